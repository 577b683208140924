//===- KernelGroup.h - Loop nests that share loops --------------*- C++ -*-===//
//
// Decides which neighbouring loop nests are computed together, and which loops
// they share. It is legal if every dependence stays within one iteration of the
// shared loops. So if one nest writes a buffer that another touches, both must
// access it with the same stride in each shared loop. And the parts that the
// remaining loops reach in different iterations must be disjoint (LoopNest.h,
// isSeparable). If two buffers of different roots may share memory and one of
// them is written, no loop is shared.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_KERNELS_KERNELGROUP_H
#define DIST_LOWERING_KERNELS_KERNELGROUP_H

#include "lowering/kernels/LoopNest.h"

namespace mlir::dist {

/// A loop nest and, for each loop that its group shares, its own loop.
struct Member {
  LoopNest nest;
  SmallVector<int> shared;
};

/// Loop nests computed in one kernel: shared loops around all members in turn.
struct KernelGroup {
  SmallVector<int64_t> sizes; // of the shared loops
  SmallVector<Member, 0> members;

  bool empty() const { return members.empty(); }
  /// Whether a member may touch memory that the buffer lies in.
  bool mayTouch(const FlatBuffer &buffer) const;
};

/// The target's limits for one kernel.
struct GroupLimits {
  /// Bytes that one iteration of the shared loops may leave behind for the next
  /// nest.
  int64_t maxCellBytes;
  /// The most nests in one kernel.
  size_t maxMembers;
  /// Whether a shared loop must not walk along rows whose columns a nest's own
  /// loops walk. If one core ran all iterations, each of them would touch a
  /// line of the cache for one element.
  bool keepsRowsInside;
};

/// Nests that stay together: an op, after the fills of its accumulators.
using Unit = SmallVector<LoopNest, 0>;

/// Adds the unit to the group (starts it if the group is empty) and narrows the
/// shared loops. False if that is illegal or does not pay.
bool join(KernelGroup &group, const Unit &unit, const GroupLimits &limits);

/// For each shared loop of `members`, the loop of `nest` with the same strides
/// in shared buffers; -1 if there is no such loop or a dependence forbids it.
/// `related` is set if they have a buffer in common.
SmallVector<int> matchLoops(ArrayRef<Member> members, ArrayRef<int64_t> sizes,
                            const LoopNest &nest, bool parallelOnly,
                            bool &related);

} // namespace mlir::dist

#endif // DIST_LOWERING_KERNELS_KERNELGROUP_H
