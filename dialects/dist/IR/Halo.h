//===- Halo.h - Checks and costs of halos -----------------------*- C++ -*-===//

#ifndef DIST_DIALECTS_DIST_IR_HALO_H
#define DIST_DIALECTS_DIST_IR_HALO_H

#include "dialects/dist/IR/Dist.h"

namespace mlir::dist {

/// Rows that the busiest device sends, in a line of `devices` with `rows` rows
/// each. Each device needs the `low` rows before and the `high` rows after its
/// own, from whichever devices own them.
int64_t getHaloRowsSent(int64_t rows, int64_t devices, int64_t low,
                        int64_t high);

/// The same for a ring; each device needs a row of another device at most once.
int64_t getRingRowsSent(int64_t rows, int64_t devices, int64_t low,
                        int64_t high);

/// Checks the rows of a halo; fails after an error at `op`.
LogicalResult verifyHaloRows(Operation *op, int64_t low, int64_t high);

/// Checks that the constant of a boundary, if any, has the element type of a
/// tensor of this type.
LogicalResult verifyBoundary(Operation *op, BoundaryAttr boundary,
                             RankedTensorType type);

} // namespace mlir::dist

#endif // DIST_DIALECTS_DIST_IR_HALO_H
