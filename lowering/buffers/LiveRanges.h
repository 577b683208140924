//===- LiveRanges.h - Live ranges of buffers --------------------*- C++ -*-===//
//
// From the first to the last op that may touch an allocation, through any of
// its aliases (Aliases.h).
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_BUFFERS_LIVERANGES_H
#define DIST_LOWERING_BUFFERS_LIVERANGES_H

#include "lowering/buffers/Aliases.h"
#include "lowering/buffers/MemoryPlan.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir::dist {

/// Bytes that a buffer of static shape takes.
int64_t getSizeInBytes(MemRefType type);

/// Times are positions in a walk over the function. If a loop uses a value from
/// before it, the range covers the loop from its first op to its last. So does
/// a region of several blocks, whose order is known only at run time.
class LiveRanges {
public:
  LiveRanges(func::FuncOp function, const BufferAliases &aliases);

  /// The live range of an allocation of static shape that has a use. Fails with
  /// an error at an allocation that is passed on to a later iteration of the
  /// loop that contains it: then two buffers with one place would be alive.
  FailureOr<LiveRange> of(memref::AllocOp alloc) const;

private:
  struct Span {
    int64_t first = INT64_MAX, last = -1;
    /// The earliest region that takes the buffer as an argument.
    int64_t earliestArgument = INT64_MAX;
    /// Whether that made it longer.
    bool include(const Span &other);
  };

  Span ownSpan(Value buffer);
  bool hasCycle(Region &region);

  const BufferAliases &aliases;
  DenseMap<Operation *, std::pair<int64_t, int64_t>> times; // first and last
  DenseMap<Region *, bool> cyclic;
  std::vector<Span> spans; // in the order of aliases.getBuffers()
};

} // namespace mlir::dist

#endif // DIST_LOWERING_BUFFERS_LIVERANGES_H
