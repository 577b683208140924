//===- Slices.h - Parts of one dimension ------------------------*- C++ -*-===//

#ifndef DIST_DIALECTS_DIST_UTILS_SLICES_H
#define DIST_DIALECTS_DIST_UTILS_SLICES_H

#include "mlir/IR/Builders.h"

namespace mlir::dist {

/// Elements [offset, offset + size) of dimension `dim` of a tensor, and all of
/// the others; the tensor itself where that is all of it.
Value sliceAlong(OpBuilder &builder, Location loc, Value tensor, int64_t dim,
                 OpFoldResult offset, int64_t size);
Value sliceAlong(OpBuilder &builder, Location loc, Value tensor, int64_t dim,
                 int64_t offset, int64_t size);

} // namespace mlir::dist

#endif // DIST_DIALECTS_DIST_UTILS_SLICES_H
