//===- Halo.h - What halos may be, and what they send -----------*- C++ -*-===//

#ifndef DIST_DIALECTS_DIST_IR_HALO_H
#define DIST_DIALECTS_DIST_IR_HALO_H

#include "dialects/dist/IR/Dist.h"

namespace mlir::dist {

/// On a mesh, until these are made: modules in which only the rows that indices
/// name are exchanged (dist.graph_halo), by their paths: {axes = [...], by =
/// loc(...)}.
inline constexpr llvm::StringLiteral kGraphHalosAttr = "dist.graph_halos";

/// Rows that the busiest of a line of `devices` sends, each of which has `rows`
/// and wants the `low` before and the `high` after its own, whichever devices
/// have them.
int64_t getHaloRowsSent(int64_t rows, int64_t devices, int64_t low,
                        int64_t high);

/// The same where the line is a ring: rows of other devices, each once.
int64_t getRingRowsSent(int64_t rows, int64_t devices, int64_t low,
                        int64_t high);

/// Checks the rows of a halo; fails after an error at `op`.
LogicalResult verifyHaloRows(Operation *op, int64_t low, int64_t high);

/// Checks that a constant, where the boundary has one, is an element of a
/// tensor of this type.
LogicalResult verifyBoundary(Operation *op, BoundaryAttr boundary,
                             RankedTensorType type);

} // namespace mlir::dist

#endif // DIST_DIALECTS_DIST_IR_HALO_H
