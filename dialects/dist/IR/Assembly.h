//===- Assembly.h - Parts of ops and shardings in short form ----*- C++ -*-===//
//
// Axes and dimensions in the short form that they have within shardings and
// ops: `"tp"(1)2` and `{"tp", ?} groups 3`, without the brackets of an
// attribute; words and texts. Used by the dialect only.
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

} // namespace mlir::dist

#endif // DIST_DIALECTS_DIST_IR_ASSEMBLY_H
