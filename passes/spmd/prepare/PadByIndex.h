//===- PadByIndex.h - Circular and reflected padding ------------*- C++ -*-===//
//
// Circular, reflected and edge padding is imported as a concatenation of a
// value with slices of it, and a concatenated dimension must be whole. This
// rewrites it as a pad whose rows are then selected by index. Only rows across
// the borders of blocks move, and rows that the ends repeat are summed.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SPMD_PREPARE_PADBYINDEX_H
#define DIST_PASSES_SPMD_PREPARE_PADBYINDEX_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::dist {
class MeshOp;

/// Rewrites concatenations of a value with slices of its own rows, if devices
/// shard these rows and less is sent that way.
LogicalResult rewritePadsByIndex(ModuleOp module, MeshOp mesh);

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_PREPARE_PADBYINDEX_H
