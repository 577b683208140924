//===- MemoryPlan.h - Places of buffers in an arena -------------*- C++ -*-===//
//
// Plain arithmetic: intervals of time with sizes in, offsets out.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_BUFFERS_MEMORYPLAN_H
#define DIST_LOWERING_BUFFERS_MEMORYPLAN_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace mlir::dist {

/// A buffer that is alive at the times start to end, both included.
struct LiveRange {
  int64_t start, end;
  int64_t bytes;
};

struct MemoryPlan {
  llvm::SmallVector<int64_t> offsets; // in the order of the ranges
  int64_t bytes = 0;                  // of the arena
  int64_t liveBytes = 0;              // most bytes alive at one time
};

/// Gives each buffer an offset, a multiple of `alignment`, so that buffers
/// alive at one time do not overlap. Takes n log n, and for at most a few
/// thousand buffers also a quadratic search for a smaller arena.
MemoryPlan planMemory(llvm::ArrayRef<LiveRange> ranges, int64_t alignment);

} // namespace mlir::dist

#endif // DIST_LOWERING_BUFFERS_MEMORYPLAN_H
