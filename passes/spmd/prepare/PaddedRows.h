//===- PaddedRows.h - Rows padded by rows of their own ----------*- C++ -*-===//
//
// A circular, reflected or repeated pad is imported as what is padded joined
// with slices of it, and a dimension that is joined is needed whole. Written as
// a pad whose rows are then chosen by their index, only rows across the borders
// of blocks move, and those that the ends repeat are summed up.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SPMD_PREPARE_PADDEDROWS_H
#define DIST_PASSES_SPMD_PREPARE_PADDEDROWS_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::dist {
class MeshOp;

/// Rewrites joins of a value with slices of its own rows where devices share
/// them out and less is sent so.
LogicalResult rewritePaddedRows(ModuleOp module, MeshOp mesh);

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_PREPARE_PADDEDROWS_H
