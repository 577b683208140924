//===- LoopOrder.cpp - The order of a kernel's loops on a core ------------===//

#include "lowering/cpu/LoopOrder.h"
#include "lowering/kernels/Accumulators.h"

using namespace mlir;
using namespace mlir::dist;

/// Turns of sums that LLVM unrolls.
static constexpr int64_t kMostUnrolled = 16;

/// A loop of so many turns is long.
static constexpr int64_t kManyTurns = 16;

bool mlir::dist::orderLoops(const KernelGroup &group, SmallVector<Loop> &loops,
                            ArrayRef<unsigned> members) {
  if (loops.size() < 2)
    return false;
  auto reduces = [&](const Loop &loop) {
    return accumulates(group, members, loop);
  };
  auto putReductionsInside = [&] {
    llvm::stable_sort(loops, [&](const Loop &a, const Loop &b) {
      return reduces(a) < reduces(b);
    });
  };
  if (llvm::any_of(members, [&](unsigned index) {
        return group.members[index].nest.isOrdered;
      })) {
    putReductionsInside();
    return false;
  }
  // The order of a sum must not depend on how many sums there are, nor on where
  // they are put.
  bool hasSums = llvm::any_of(loops, reduces);
  auto isAccumulator = [&](unsigned position, const Access &access) {
    return access.writes && llvm::any_of(loops, [&](const Loop &loop) {
             return access.strides[loop.dims[position]] == 0;
           });
  };
  size_t best = 0;
  double bestScore = -1e300;
  for (auto [position, loop] : llvm::enumerate(loops)) {
    double score = 0;
    for (auto [at, index, dim] : llvm::enumerate(members, loop.dims))
      for (const Access &access : group.members[index].nest.accesses) {
        if (!access.linear || (hasSums && isAccumulator(at, access)))
          continue;
        int64_t stride = access.strides[dim];
        double weight = access.writes ? 3 : 1;
        score += weight * (stride == 1 ? 2 : stride == 0 ? 1 : -1);
      }
    int64_t turns = hasSums && !reduces(loop) ? kManyTurns : loop.size;
    score *= std::min(turns, kManyTurns);
    if (score >= bestScore) {
      bestScore = score;
      best = position;
    }
  }
  Loop innermost = loops[best];
  loops.erase(loops.begin() + best);
  putReductionsInside();
  // A few iterations of sums are unrolled, so that the loop around them is
  // vectorized, and accumulators stay in registers.
  auto firstSum = llvm::find_if(loops, reduces);
  int64_t turns = 1;
  for (const Loop &loop : llvm::make_range(firstSum, loops.end()))
    turns *= loop.size;
  bool unrolls =
      !reduces(innermost) && firstSum != loops.end() && turns <= kMostUnrolled;
  loops.insert(unrolls ? firstSum : loops.end(), innermost);
  return unrolls;
}
