//===- Accumulators.cpp - What a run's loops accumulate -------------------===//

#include "lowering/kernels/Accumulators.h"
#include "dialects/dist/Interfaces/Reductions.h"
#include "lowering/buffers/Sums.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace mlir::dist;

static Accumulator describe(const KernelGroup &group, unsigned member,
                            const Access &access, size_t from) {
  const LoopNest &nest = group.members[member].nest;
  Accumulator output;
  output.member = member;
  output.access = &access;
  output.from = from;
  auto op = dyn_cast<linalg::LinalgOp>(nest.op);
  if (!op || nest.isOrdered)
    return output;
  OpOperand &init = nest.op->getOpOperand(access.operand);
  BlockArgument soFar = op.getMatchingBlockArgument(&init);
  Value yielded = op.getMatchingYieldValue(&init)->get();
  Type type = soFar.getType();
  Builder builder(type.getContext());
  if (isSum(yielded, soFar)) {
    output.isSum = true;
    output.combiner =
        *llvm::find_if(soFar.getUsers(), llvm::IsaPred<arith::AddFOp>);
    output.neutral = getNeutral(builder, type, ReductionKind::Sum);
    return output;
  }
  auto kind = getReduction(op, init.getOperandNumber() - op.getNumDpsInputs());
  // Nothing else reads it on the way. (Bits side by side are a vector's alone.)
  if (kind && yielded.hasOneUse() && type.isIntOrFloat() &&
      type.getIntOrFloatBitWidth() >= 8) {
    output.combiner = yielded.getDefiningOp();
    output.neutral = getNeutral(builder, type, *kind);
  }
  return output;
}

SmallVector<Accumulator> mlir::dist::findAccumulators(const KernelGroup &group,
                                                      const Run &run) {
  SmallVector<Accumulator> found;
  for (auto [position, member] : llvm::enumerate(run.members))
    for (const Access &access : group.members[member].nest.accesses) {
      if (!access.writes || !access.linear)
        continue;
      size_t from = run.loops.size();
      while (from > 0 &&
             access.strides[run.loops[from - 1].dims[position]] == 0)
        --from;
      if (from < run.loops.size())
        found.push_back(describe(group, member, access, from));
    }
  return found;
}

SmallVector<Accumulator> mlir::dist::findAccumulators(const KernelGroup &group,
                                                      const Run &run,
                                                      size_t loop) {
  SmallVector<Accumulator> found;
  for (auto [position, member] : llvm::enumerate(run.members))
    for (const Access &access : group.members[member].nest.accesses)
      if (access.writes && access.linear &&
          access.strides[run.loops[loop].dims[position]] == 0)
        found.push_back(describe(group, member, access, loop));
  return found;
}

bool mlir::dist::accumulates(const KernelGroup &group,
                             ArrayRef<unsigned> members, const Loop &loop) {
  for (auto [member, dim] : llvm::zip_equal(members, loop.dims))
    if (!group.members[member].nest.parallel[dim])
      return true;
  return false;
}
