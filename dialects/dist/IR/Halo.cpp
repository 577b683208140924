//===- Halo.cpp - What halos may be, and what they send -------------------===//

#include "dialects/dist/IR/Halo.h"
#include "dialects/dist/IR/Assembly.h"

using namespace mlir;
using namespace mlir::dist;

//===----------------------------------------------------------------------===//
// Boundaries
//===----------------------------------------------------------------------===//

LogicalResult BoundaryAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   BoundaryKind kind, TypedAttr value) {
  if ((kind == BoundaryKind::Constant) != static_cast<bool>(value))
    return emitError() << "boundary '" << stringifyBoundaryKind(kind) << "' "
                       << (value ? "has no value" : "needs a value");
  if (value && !isa<IntegerAttr, FloatAttr>(value))
    return emitError() << "boundary " << value
                       << " is neither an integer nor a float";
  return success();
}

ParseResult mlir::dist::parseBoundaryAttr(AsmParser &parser,
                                          BoundaryAttr &boundary) {
  StringRef word;
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&word))
    return failure();
  std::optional<BoundaryKind> kind = symbolizeBoundaryKind(word);
  if (!kind)
    return parser.emitError(loc)
           << "'" << word << "' is none of zero, constant, none, periodic";
  TypedAttr value;
  if (*kind == BoundaryKind::Constant && parser.parseAttribute(value))
    return failure();
  boundary = BoundaryAttr::getChecked([&] { return parser.emitError(loc); },
                                      parser.getContext(), *kind, value);
  return success(boundary != nullptr);
}

void mlir::dist::printBoundaryAttr(AsmPrinter &printer, BoundaryAttr boundary) {
  printer << stringifyBoundaryKind(boundary.getKind());
  if (boundary.getValue())
    printer << " " << boundary.getValue();
}

Attribute BoundaryAttr::parse(AsmParser &parser, Type) {
  BoundaryAttr boundary;
  if (parser.parseLess() || parseBoundaryAttr(parser, boundary) ||
      parser.parseGreater())
    return {};
  return boundary;
}

void BoundaryAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printBoundaryAttr(printer, *this);
  printer << ">";
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

LogicalResult mlir::dist::verifyHaloRows(Operation *op, int64_t low,
                                         int64_t high) {
  // Sums of these are numbers.
  constexpr int64_t kMost = int64_t(1) << 40;
  for (int64_t rows : {low, high}) {
    if (rows < 0)
      return op->emitOpError() << "halo of " << rows << " is negative";
    if (rows > kMost)
      return op->emitOpError()
             << "halo of " << rows << " rows is more than " << kMost;
  }
  return success();
}

LogicalResult mlir::dist::verifyBoundary(Operation *op, BoundaryAttr boundary,
                                         RankedTensorType type) {
  TypedAttr value = boundary ? boundary.getValue() : TypedAttr();
  if (value && value.getType() != type.getElementType())
    return op->emitOpError()
           << "boundary constant " << value << " is of type " << value.getType()
           << ", but the tensor's elements are " << type.getElementType();
  return success();
}

//===----------------------------------------------------------------------===//
// Rows that are sent
//===----------------------------------------------------------------------===//

int64_t mlir::dist::getHaloRowsSent(int64_t rows, int64_t devices, int64_t low,
                                    int64_t high) {
  if (rows == 0 || devices < 2)
    return 0;
  // Device i sends rows that those after it lack in front, and those before it
  // behind: a concave function of i, with a corner where either is all.
  int64_t most = 0, last = devices - 1;
  for (int64_t i : {high / rows, high / rows + 1, last - low / rows,
                    last - low / rows - 1}) {
    i = std::clamp<int64_t>(i, 0, last);
    most = std::max(most, std::min(low, (last - i) * rows) +
                              std::min(high, i * rows));
  }
  return most;
}

int64_t mlir::dist::getRingRowsSent(int64_t rows, int64_t devices, int64_t low,
                                    int64_t high) {
  return std::min(low + high, (devices - 1) * rows);
}
