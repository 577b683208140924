//===- MergedRows.h - Rows that are merged from periods ---------*- C++ -*-===//
//
// A resize computes rows by periods (of 42 rows 63 are 21 times 3), which are
// then merged; so do transposed convolutions, upsampling and pixel shuffles.
// Where devices share periods out unevenly, they have 11 times 3 and 10 times 3
// rows, which are no blocks of 63: merged by an op that writes them in windows,
// of a period each, only rows across the border move. Where all rows are
// gathered for less, or nothing needs them in blocks, they stay as they are.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SPMD_PREPARE_MERGEDROWS_H
#define DIST_PASSES_SPMD_PREPARE_MERGEDROWS_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::dist {
class MeshOp;

/// Rewrites reshapes that merge rows with a minor dimension, or take them
/// apart, where devices have them in uneven blocks and less is sent so.
LogicalResult rewriteMergedRows(ModuleOp module, MeshOp mesh);

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_PREPARE_MERGEDROWS_H
