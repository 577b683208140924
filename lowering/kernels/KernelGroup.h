//===- KernelGroup.h - Which loop nests share their loops -------*- C++ -*-===//
//
// Decides which neighbouring loop nests may be computed together, and in which
// loops they then agree. Legal is what keeps every dependence within one
// iteration of the shared loops: wherever one nest writes a buffer that another
// touches, both walk it with the same stride in each shared loop, and what the
// remaining loops reach in different iterations is disjoint (LoopNest.h,
// isSeparable). Two buffers of different roots that may share memory are not
// walked alike: if one of them is written, no loop is shared.
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

/// What pays in one kernel, as the target knows it.
struct GroupLimits {
  /// Bytes that one iteration of the shared loops may leave behind for the next
  /// nest.
  int64_t maxCellBytes;
  /// Nests in one kernel.
  size_t maxMembers;
  /// Whether a shared loop must not walk along rows whose columns a nest's own
  /// loops walk: where one core runs all iterations, each touches a line of the
  /// cache for one element.
  bool keepsRowsInside;
};

/// Nests that stay together: an op, after the fills of what it accumulates to.
using Unit = SmallVector<LoopNest, 0>;

/// Adds the unit to the group (starting it where the group is empty) and
/// narrows the shared loops; false where that is illegal or does not pay.
bool join(KernelGroup &group, const Unit &unit, const GroupLimits &limits);

/// For each shared loop of `members`, the loop of `nest` that walks equally
/// over what they share, -1 where there is none or a dependence forbids it.
/// `related` is set when they have a buffer in common.
SmallVector<int> matchLoops(ArrayRef<Member> members, ArrayRef<int64_t> sizes,
                            const LoopNest &nest, bool parallelOnly,
                            bool &related);

} // namespace mlir::dist

#endif // DIST_LOWERING_KERNELS_KERNELGROUP_H
