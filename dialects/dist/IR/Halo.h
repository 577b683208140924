//===- Halo.h - What halo exchanges send ------------------------*- C++ -*-===//

#ifndef DIST_DIALECTS_DIST_IR_HALO_H
#define DIST_DIALECTS_DIST_IR_HALO_H

#include <cstdint>

namespace mlir::dist {

/// Rows that the busiest of a line of `devices` sends, each of which has `rows`
/// and wants the `low` before and the `high` after its own, whichever devices
/// have them.
int64_t getHaloRowsSent(int64_t rows, int64_t devices, int64_t low,
                        int64_t high);

} // namespace mlir::dist

#endif // DIST_DIALECTS_DIST_IR_HALO_H
