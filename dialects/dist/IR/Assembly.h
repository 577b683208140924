//===- Assembly.h - Parts of shardings in short form ------------*- C++ -*-===//
//
// Axes and dimensions in the short form that they have within shardings and
// ops: `"tp"(1)2` and `{"tp", ?} groups 3`, without the brackets of an
// attribute. Used by the dialect only.
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

} // namespace mlir::dist

#endif // DIST_DIALECTS_DIST_IR_ASSEMBLY_H
