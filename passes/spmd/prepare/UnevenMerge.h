//===- UnevenMerge.h - Rows merged from uneven periods ----------*- C++ -*-===//
//
// A resize computes rows by periods: from 42 rows to 63 is 21 periods of 3
// rows, which are then merged. Transposed convolutions, upsampling and pixel
// shuffles do the same. If devices shard the periods unevenly, they have 11 * 3
// and 10 * 3 rows. But blocks of 63 rows have 32 and 31. So one row must cross
// the border. An op that writes the merged rows in windows of one period each
// moves only such rows. If gathering all rows sends less, or if nothing needs
// them in blocks, the reshape stays.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SPMD_PREPARE_UNEVENMERGE_H
#define DIST_PASSES_SPMD_PREPARE_UNEVENMERGE_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::dist {
class MeshOp;

/// Rewrites reshapes that merge rows with a minor dimension, or split them, if
/// devices have them in uneven blocks and less is sent that way.
LogicalResult rewriteUnevenMerges(ModuleOp module, MeshOp mesh);

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_PREPARE_UNEVENMERGE_H
