//===- DistAttrs.cpp - Assembly and checks of the attributes --------------===//

#include "dialects/dist/IR/Assembly.h"
#include "dialects/dist/IR/Dist.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

#include "dialects/dist/IR/DistEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/dist/IR/DistAttrs.cpp.inc"

using namespace mlir;
using namespace mlir::dist;

void DistDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/dist/IR/DistAttrs.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

int64_t mlir::dist::getAxisSize(AxisRefAttr axis, ArrayRef<MeshAxisAttr> mesh) {
  for (MeshAxisAttr meshAxis : mesh)
    if (meshAxis.getName() == axis.getName()) {
      if (!axis.isSubAxis())
        return meshAxis.getSize();
      int64_t end;
      return !llvm::MulOverflow(axis.getPre(), axis.getSize(), end) &&
                     meshAxis.getSize() % end == 0
                 ? axis.getSize()
                 : 0;
    }
  return 0;
}

int64_t mlir::dist::getGroupSize(ArrayRef<AxisRefAttr> axes,
                                 ArrayRef<MeshAxisAttr> mesh) {
  int64_t size = 1;
  for (AxisRefAttr axis : axes)
    size *= getAxisSize(axis, mesh);
  return size;
}

SmallVector<AxisRefAttr> mlir::dist::getAxisRefs(ArrayAttr axes) {
  return llvm::map_to_vector(
      axes, [](Attribute axis) { return cast<AxisRefAttr>(axis); });
}

bool mlir::dist::overlaps(AxisRefAttr a, AxisRefAttr b) {
  if (a.getName() != b.getName())
    return false;
  if (!a.isSubAxis() || !b.isSubAxis())
    return true;
  // Parts are disjoint if one is wholly before the other, and the axis can be
  // viewed as a product in which both are factors.
  auto precedes = [](AxisRefAttr first, AxisRefAttr second) {
    int64_t end;
    return !llvm::MulOverflow(first.getPre(), first.getSize(), end) &&
           second.getPre() % end == 0;
  };
  return !precedes(a, b) && !precedes(b, a);
}

llvm::raw_ostream &mlir::dist::operator<<(llvm::raw_ostream &stream,
                                          AxisRefAttr axis) {
  llvm::printEscapedString(axis.getName(), stream << '"');
  stream << '"';
  if (axis.isSubAxis())
    stream << "(" << axis.getPre() << ")" << axis.getSize();
  return stream;
}

llvm::raw_ostream &mlir::dist::operator<<(llvm::raw_ostream &stream,
                                          MeshAxesAttr axes) {
  stream << "[";
  llvm::interleaveComma(axes.getValue(), stream, [&](MeshAxisAttr axis) {
    llvm::printEscapedString(axis.getName(), stream << '"');
    stream << "\" = " << axis.getSize();
  });
  return stream << "]";
}

template <typename T>
static Diagnostic &appendText(Diagnostic &diagnostic, T value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return diagnostic << text;
}

Diagnostic &mlir::dist::operator<<(Diagnostic &diagnostic, AxisRefAttr axis) {
  return appendText(diagnostic, axis);
}

Diagnostic &mlir::dist::operator<<(Diagnostic &diagnostic, MeshAxesAttr axes) {
  return appendText(diagnostic, axes);
}

ParseResult mlir::dist::parseName(AsmParser &parser, std::string &name,
                                  StringRef what, StringRef example) {
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalString(&name)))
    return success();
  // A pattern is several words.
  StringRef word;
  bool isName =
      succeeded(parser.parseOptionalKeyword(&word)) && !word.ends_with(".");
  return parser.emitError(loc)
         << "expected " << what << " in quotes, " << (isName ? "" : "such as ")
         << "\"" << (isName ? word : example) << "\"";
}

ParseResult mlir::dist::parseAxis(AsmParser &parser, AxisRefAttr &axis) {
  std::string name;
  int64_t pre = 1, size = 0;
  if (parseName(parser, name, "the name of an axis", "tp"))
    return failure();
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalLParen())) {
    if (parser.parseInteger(pre) || parser.parseRParen() ||
        parser.parseInteger(size))
      return failure();
    if (pre < 1 || size < 2)
      return parser.emitError(loc)
             << "sub-axis \"" << name << "\"(" << pre << ")" << size
             << " must have a positive number in parentheses and a size of at "
             << "least 2";
  }
  axis = AxisRefAttr::get(parser.getContext(), name, pre, size);
  return success();
}

Attribute AxisRefAttr::parse(AsmParser &parser, Type) {
  AxisRefAttr axis;
  if (parser.parseLess() || parseAxis(parser, axis) || parser.parseGreater())
    return {};
  return axis;
}

void AxisRefAttr::print(AsmPrinter &printer) const {
  printer.getStream() << "<" << *this << ">";
}

/// Parses `{"a", "b", ?}`; `isOpen` null means that `?` is not allowed.
static ParseResult parseAxes(AsmParser &parser,
                             SmallVectorImpl<AxisRefAttr> &axes, bool *isOpen) {
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Braces, [&]() -> ParseResult {
        if (isOpen && succeeded(parser.parseOptionalQuestion())) {
          *isOpen = true;
          return success();
        }
        if (isOpen && *isOpen)
          return parser.emitError(parser.getCurrentLocation(),
                                  "'?' must be the last entry of a dimension");
        return parseAxis(parser, axes.emplace_back());
      });
}

static void printAxes(AsmPrinter &printer, ArrayRef<AxisRefAttr> axes,
                      bool isOpen) {
  printer << "{";
  llvm::interleaveComma(axes, printer.getStream());
  if (isOpen)
    printer << (axes.empty() ? "?" : ", ?");
  printer << "}";
}

ParseResult mlir::dist::parseMeshAxes(AsmParser &parser, MeshAxesAttr &axes) {
  SmallVector<MeshAxisAttr> list;
  if (parser.parseCommaSeparatedList(
          AsmParser::Delimiter::Square, [&]() -> ParseResult {
            std::string name;
            int64_t size;
            if (parseName(parser, name, "the name of an axis", "tp") ||
                parser.parseEqual() || parser.parseInteger(size))
              return failure();
            list.push_back(MeshAxisAttr::get(parser.getContext(), name, size));
            return success();
          }))
    return failure();
  axes = MeshAxesAttr::get(parser.getContext(), list);
  return success();
}

Attribute MeshAxesAttr::parse(AsmParser &parser, Type) {
  MeshAxesAttr axes;
  if (parser.parseLess() || parseMeshAxes(parser, axes) ||
      parser.parseGreater())
    return {};
  return axes;
}

void MeshAxesAttr::print(AsmPrinter &printer) const {
  printer.getStream() << "<" << *this << ">";
}

//===----------------------------------------------------------------------===//
// Dimensions
//===----------------------------------------------------------------------===//

Attribute SubDimAttr::parse(AsmParser &parser, Type) {
  SmallVector<AxisRefAttr> axes;
  int64_t size = 0;
  if (parser.parseLess() || parser.parseInteger(size) || parser.parseColon() ||
      parseAxes(parser, axes, nullptr) || parser.parseGreater())
    return {};
  return get(parser.getContext(), size, axes);
}

static void printSubDim(AsmPrinter &printer, SubDimAttr subDim) {
  printer << subDim.getSize() << ":";
  printAxes(printer, subDim.getAxes(), false);
}

void SubDimAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printSubDim(printer, *this);
  printer << ">";
}

DimShardingAttr DimShardingAttr::get(MLIRContext *context,
                                     ArrayRef<AxisRefAttr> axes, bool isOpen) {
  return get(context, SubDimAttr::get(context, 0, axes), isOpen);
}

bool DimShardingAttr::isReplicated() const {
  return llvm::all_of(getSubDims(),
                      [](SubDimAttr s) { return s.getAxes().empty(); });
}

SmallVector<AxisRefAttr> DimShardingAttr::getAllAxes() const {
  SmallVector<AxisRefAttr> axes;
  for (SubDimAttr subDim : getSubDims())
    llvm::append_range(axes, subDim.getAxes());
  return axes;
}

ParseResult mlir::dist::parseDim(AsmParser &parser, DimShardingAttr &dim) {
  // sub-dim := int `:` axes; dim := (sub-dim `*`)* axes (`groups` int)?
  MLIRContext *context = parser.getContext();
  SmallVector<SubDimAttr> subDims;
  bool isOpen = false;
  while (true) {
    int64_t size = 0;
    llvm::SMLoc loc = parser.getCurrentLocation();
    OptionalParseResult number = parser.parseOptionalInteger(size);
    SmallVector<AxisRefAttr> axes;
    if (number.has_value()) {
      if (failed(*number) || parser.parseColon() ||
          parseAxes(parser, axes, nullptr) || parser.parseStar())
        return failure();
      if (size < 1)
        return parser.emitError(loc)
               << "sub-dimension size " << size << " must be positive";
      subDims.push_back(SubDimAttr::get(context, size, axes));
      continue;
    }
    std::string name;
    StringRef word;
    if (succeeded(parser.parseOptionalString(&name)) ||
        succeeded(parser.parseOptionalKeyword(&word)))
      return parser.emitError(loc)
             << "a dimension is its axes in braces, as in {\"tp\"}, or {} if "
                "it is whole";
    if (parseAxes(parser, axes, &isOpen))
      return failure();
    if (subDims.empty() && succeeded(parser.parseOptionalKeyword("groups"))) {
      loc = parser.getCurrentLocation();
      OptionalParseResult hasSize = parser.parseOptionalInteger(size);
      if (!hasSize.has_value())
        return parser.emitError(loc)
               << "a dimension's 'groups' are a number of equal blocks; blocks "
                  "of other sizes belong to 'column', or stand after the list "
                  "of a parameter: [{\"tp\"}, {}] groups [64, 16, 16] dim 0";
      if (failed(*hasSize))
        return failure();
      if (size < 1)
        return parser.emitError(loc)
               << "groups " << size << " must be positive";
      if (size > 1)
        subDims.push_back(SubDimAttr::get(context, size, {}));
    }
    subDims.push_back(SubDimAttr::get(context, 0, axes));
    dim = DimShardingAttr::get(context, subDims, isOpen);
    return success();
  }
}

void mlir::dist::printDim(AsmPrinter &printer, DimShardingAttr dim) {
  ArrayRef<SubDimAttr> subDims = dim.getSubDims();
  if (subDims.size() == 2 && subDims[0].getAxes().empty()) {
    printAxes(printer, subDims[1].getAxes(), dim.getIsOpen());
    printer << " groups " << subDims[0].getSize();
    return;
  }
  for (SubDimAttr subDim : subDims.drop_back()) {
    printSubDim(printer, subDim);
    printer << " * ";
  }
  printAxes(printer, subDims.back().getAxes(), dim.getIsOpen());
}

Attribute DimShardingAttr::parse(AsmParser &parser, Type) {
  DimShardingAttr dim;
  if (parser.parseLess() || parseDim(parser, dim) || parser.parseGreater())
    return {};
  return dim;
}

void DimShardingAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printDim(printer, *this);
  printer << ">";
}

//===----------------------------------------------------------------------===//
// Shardings
//===----------------------------------------------------------------------===//

ShardingAttr ShardingAttr::getReplicated(FlatSymbolRefAttr mesh, int64_t rank) {
  MLIRContext *context = mesh.getContext();
  SmallVector<DimShardingAttr> dims(
      rank, DimShardingAttr::get(context, ArrayRef<AxisRefAttr>()));
  return get(context, mesh, dims, ReductionKind::Sum, {});
}

bool ShardingAttr::isReplicated() const {
  return !isPartial() && llvm::all_of(getDims(), [](DimShardingAttr d) {
    return d.isReplicated();
  });
}

ShardingAttr ShardingAttr::withoutPartial() const {
  // Equal placements are one attribute: without a pending reduction, the kind
  // is sum.
  return isPartial() || getPartialKind() != ReductionKind::Sum
             ? get(getContext(), getMesh(), getDims(), ReductionKind::Sum, {})
             : *this;
}

ParseResult mlir::dist::parsePartial(AsmParser &parser, ReductionKind &kind,
                                     SmallVectorImpl<AxisRefAttr> &axes) {
  StringRef word;
  if (parser.parseEqual())
    return failure();
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&word))
    return failure();
  std::optional<ReductionKind> parsed = symbolizeReductionKind(word);
  if (!parsed)
    return parser.emitError(loc) << "'" << word << "' is no reduction; one of "
                                 << "sum, prod, max, min, and, or is";
  kind = *parsed;
  loc = parser.getCurrentLocation();
  SmallVector<AxisRefAttr> list;
  if (parseAxes(parser, list, nullptr))
    return failure();
  if (list.empty())
    return parser.emitError(loc) << "partial needs at least one axis";
  axes.assign(list.begin(), list.end());
  return success();
}

void mlir::dist::printPartial(AsmPrinter &printer, ReductionKind kind,
                              ArrayRef<AxisRefAttr> axes) {
  printer << "partial = " << stringifyReductionKind(kind) << " ";
  printAxes(printer, axes, false);
}

Attribute ShardingAttr::parse(AsmParser &parser, Type) {
  FlatSymbolRefAttr mesh;
  SmallVector<DimShardingAttr> dims;
  ReductionKind kind = ReductionKind::Sum;
  SmallVector<AxisRefAttr> partial;
  if (parser.parseLess() || parser.parseAttribute(mesh) ||
      parser.parseComma() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
        return parseDim(parser, dims.emplace_back());
      }))
    return {};
  if (succeeded(parser.parseOptionalComma())) {
    if (parser.parseKeyword("partial") || parsePartial(parser, kind, partial))
      return {};
  }
  if (parser.parseGreater())
    return {};
  return get(parser.getContext(), mesh, dims, kind, partial);
}

void ShardingAttr::print(AsmPrinter &printer) const {
  printer << "<" << getMesh() << ", [";
  llvm::interleaveComma(getDims(), printer,
                        [&](DimShardingAttr d) { printDim(printer, d); });
  printer << "]";
  if (isPartial()) {
    printer << ", ";
    printPartial(printer, getPartialKind(), getPartialAxes());
  }
  printer << ">";
}

SmallVector<int64_t>
ShardingAttr::getLocalShape(ArrayRef<int64_t> shape,
                            ArrayRef<MeshAxisAttr> axes) const {
  SmallVector<int64_t> local;
  for (auto [dim, size] : llvm::zip_equal(getDims(), shape)) {
    int64_t rest = size, held = 1;
    for (SubDimAttr subDim : dim.getSubDims())
      if (subDim.getSize())
        rest /= subDim.getSize();
    for (SubDimAttr subDim : dim.getSubDims())
      held *= llvm::divideCeil(subDim.getSize() ? subDim.getSize() : rest,
                               getGroupSize(subDim.getAxes(), axes));
    // No sub-dimension is short for one that no axis shards.
    local.push_back(dim.getSubDims().empty() ? size : held);
  }
  return local;
}

LogicalResult
mlir::dist::verifyAxes(ArrayRef<AxisRefAttr> axes, FlatSymbolRefAttr meshName,
                       ArrayRef<MeshAxisAttr> mesh,
                       function_ref<InFlightDiagnostic()> emitError,
                       ShardingAttr sharding) {
  auto say = [&](InFlightDiagnostic &diagnostic, StringRef preposition) {
    if (sharding)
      diagnostic << preposition << sharding;
  };
  for (size_t index = 0; index < axes.size(); ++index) {
    AxisRefAttr axis = axes[index];
    if (meshName && getAxisSize(axis, mesh) == 0) {
      auto whole = llvm::find_if(mesh, [&](MeshAxisAttr meshAxis) {
        return meshAxis.getName() == axis.getName();
      });
      if (whole != mesh.end())
        return emitError() << "sub-axis " << axis << " does not divide axis \""
                           << axis.getName() << "\" of size "
                           << whole->getSize();
      InFlightDiagnostic diagnostic = emitError();
      diagnostic << "axis " << axis;
      say(diagnostic, " of sharding ");
      return diagnostic << " is not in mesh " << meshName << " "
                        << MeshAxesAttr::get(axis.getContext(), mesh);
    }
    // One name for one thing: places are compared by their axes.
    if (meshName && axis.isSubAxis() &&
        getAxisSize(AxisRefAttr::get(axis.getContext(), axis.getName(), 1, 0),
                    mesh) == axis.getSize())
      return emitError() << "sub-axis " << axis << " is the whole axis \""
                         << axis.getName() << "\": leave out (1)"
                         << axis.getSize();
    for (AxisRefAttr other : axes.take_front(index))
      if (overlaps(axis, other)) {
        InFlightDiagnostic diagnostic = emitError();
        diagnostic << "axis " << axis << " occurs twice";
        say(diagnostic, " in sharding ");
        return diagnostic;
      }
  }
  return success();
}

LogicalResult
mlir::dist::verifyAxes(ArrayRef<AxisRefAttr> axes, MeshOp mesh,
                       function_ref<InFlightDiagnostic()> emitError) {
  return mesh ? verifyAxes(axes, FlatSymbolRefAttr::get(mesh.getSymNameAttr()),
                           mesh.getAxes(), emitError)
              : verifyAxes(axes, {}, {}, emitError);
}

LogicalResult
ShardingAttr::verifyFor(ArrayRef<int64_t> shape, ArrayRef<MeshAxisAttr> axes,
                        function_ref<InFlightDiagnostic()> emitError) const {
  if (getDims().size() != shape.size())
    return emitError() << "sharding " << *this << " has " << getDims().size()
                       << " dimensions, but the tensor has " << shape.size()
                       << ": write one entry for each, {} where it is whole";
  SmallVector<AxisRefAttr> all;
  for (DimShardingAttr dim : getDims())
    llvm::append_range(all, dim.getAllAxes());
  llvm::append_range(all, getPartialAxes());
  if (failed(verifyAxes(all, getMesh(), axes, emitError, *this)))
    return failure();
  for (auto [index, dim] : llvm::enumerate(getDims())) {
    int64_t fixed = 1;
    for (SubDimAttr subDim : dim.getSubDims()) {
      if (subDim.getSize() && llvm::MulOverflow(fixed, subDim.getSize(), fixed))
        return emitError() << "the sub-dimensions of dimension " << index
                           << " multiply to more than 63 bits in sharding "
                           << *this;
    }
    if (dim.getSubDims().size() == 1)
      continue;
    // Unknown sizes are checked when they become known.
    int64_t size = shape[index];
    bool isKnown = !ShapedType::isDynamic(size);
    if (isKnown && size % fixed != 0)
      return emitError() << "dimension " << index << " of size " << size
                         << " is not a multiple of its sub-dimensions' "
                         << fixed << " in sharding " << *this;
    for (SubDimAttr subDim : dim.getSubDims()) {
      if (!isKnown && !subDim.getSize())
        continue;
      int64_t subSize = subDim.getSize() ? subDim.getSize() : size / fixed;
      int64_t devices = getGroupSize(subDim.getAxes(), axes);
      // Padding is at the end of the major one only, and of a size that is
      // known.
      bool mayBePadded = isKnown && subDim == dim.getSubDims().front();
      if (subSize % devices != 0 && !mayBePadded)
        return emitError() << "interleaved sub-dimension of size " << subSize
                           << " in dimension " << index << " is not divided by "
                           << devices << " devices in sharding " << *this;
    }
  }
  return success();
}
