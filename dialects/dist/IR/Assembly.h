//===- Assembly.h - Parts of ops and shardings in short form ----*- C++ -*-===//
//
// Axes and dimensions in the short form that they have within shardings and
// ops: `"tp"(1)2` and `{"tp", ?} groups 3`, without the brackets of an
// attribute; words and texts; the clauses at a directive's end. Used by the
// dialect only.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_DIALECTS_DIST_IR_ASSEMBLY_H
#define DIST_DIALECTS_DIST_IR_ASSEMBLY_H

#include "dialects/dist/IR/Dist.h"

namespace mlir::dist {

/// A name in quotes. Without them `what` and `example` say which.
ParseResult parseName(AsmParser &parser, std::string &name, StringRef what,
                      StringRef example);

ParseResult parseAxis(AsmParser &parser, AxisRefAttr &axis);

ParseResult parseMeshAxes(AsmParser &parser, MeshAxesAttr &axes);

ParseResult parseDim(AsmParser &parser, DimShardingAttr &dim);
void printDim(AsmPrinter &printer, DimShardingAttr dim);

/// `partial = sum {"tp"}`; the word `partial` has been parsed.
ParseResult parsePartial(AsmParser &parser, ReductionKind &kind,
                         SmallVectorImpl<AxisRefAttr> &axes);
void printPartial(AsmPrinter &printer, ReductionKind kind,
                  ArrayRef<AxisRefAttr> axes);

/// `constant 1.5 : f32`.
ParseResult parseBoundaryAttr(AsmParser &parser, BoundaryAttr &boundary);
void printBoundaryAttr(AsmPrinter &printer, BoundaryAttr boundary);

/// Parses the bare keyword of an enum attribute.
template <typename EnumAttrT>
ParseResult parseEnum(OpAsmParser &parser, EnumAttrT &attr) {
  using EnumT = decltype(attr.getValue());
  StringRef word;
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&word))
    return failure();
  std::optional<EnumT> value = symbolizeEnum<EnumT>(word);
  if (!value) {
    InFlightDiagnostic diagnostic = parser.emitError(loc);
    diagnostic << "'" << word << "' is none of ";
    StringRef name;
    for (uint32_t i = 0; !(name = stringifyEnum(static_cast<EnumT>(i))).empty();
         ++i)
      diagnostic << (i ? ", " : "") << name;
    return diagnostic;
  }
  attr = EnumAttrT::get(parser.getContext(), *value);
  return success();
}

template <typename EnumAttrT>
void printEnum(OpAsmPrinter &printer, Operation *, EnumAttrT attr) {
  printer << stringifyEnum(attr.getValue());
}

/// A string in which quotes, which directives are full of, are written `\"`
/// rather than `\22`.
ParseResult parseText(OpAsmParser &parser, StringAttr &text);
void printText(OpAsmPrinter &printer, Operation *op, StringAttr text);

ParseResult parseAxisList(OpAsmParser &parser, ArrayAttr &axes);
void printAxisList(OpAsmPrinter &printer, Operation *op, ArrayAttr axes);

//===----------------------------------------------------------------------===//
// Directives
//===----------------------------------------------------------------------===//

/// The pattern of names that a directive is about.
ParseResult parseTarget(OpAsmParser &parser, std::string &target);

/// Checks the axes of a directive. Its mesh may be defined in another file.
LogicalResult verifyDirectiveAxes(Operation *op, ArrayRef<AxisRefAttr> axes);

/// The clauses that any directive may end with: `except "…"`, `optional` and
/// `expect n`.
ParseResult parseCount(OpAsmParser &parser, OperationState &result);

template <typename Directive>
void printCount(OpAsmPrinter &printer, Directive op) {
  if (op.getExceptAttr()) {
    printer << " except ";
    printer.printAttribute(op.getExceptAttr());
  }
  if (op.getOptional())
    printer << " optional";
  if (op.getExpect())
    printer << " expect " << *op.getExpect();
}

template <typename Directive> LogicalResult verifyCount(Directive op) {
  if (!op.getExpect())
    return success();
  int64_t expected = *op.getExpect();
  if (expected < 1)
    return op.emitOpError() << "expect " << expected << " must be at least 1";
  if (op.getOptional())
    return op.emitOpError() << "is 'optional', so that it may match nothing, "
                            << "and expects " << expected
                            << (expected == 1 ? " place" : " places")
                            << ": leave out one of the two";
  return success();
}

} // namespace mlir::dist

#endif // DIST_DIALECTS_DIST_IR_ASSEMBLY_H
