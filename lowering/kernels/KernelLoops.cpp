//===- KernelLoops.cpp - Which loops a kernel is written as ---------------===//

#include "lowering/kernels/KernelLoops.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace mlir::dist;

/// Whether the nest's loops are asked for one by one.
static bool needsLoopIndices(const LoopNest &nest) {
  if (llvm::any_of(nest.accesses,
                   [](const Access &access) { return !access.linear; }))
    return true;
  auto linalgOp = dyn_cast<linalg::LinalgOp>(nest.op);
  return linalgOp && linalgOp.hasIndexSemantics();
}

/// A fill of one element per iteration of the shared loops would come between
/// nests that could share their inner loops: it goes first where it may.
void mlir::dist::hoistFills(KernelGroup &group) {
  for (size_t index = 0; index < group.members.size(); ++index) {
    const Member &member = group.members[index];
    if (!isa<linalg::FillOp>(member.nest.op) ||
        member.shared.size() !=
            size_t(llvm::count_if(member.nest.sizes,
                                  [](int64_t size) { return size != 1; })))
      continue;
    const FlatBuffer &filled = member.nest.accesses.front().buffer;
    auto before = ArrayRef(group.members).take_front(index);
    if (llvm::none_of(before, [&](const Member &other) {
          return other.nest.mayTouch(filled);
        }))
      std::rotate(group.members.begin(), group.members.begin() + index,
                  group.members.begin() + index + 1);
  }
}

/// A buffer that is used within one iteration of the shared loops only needs
/// room for what one iteration touches. Its new strides are compact, in the
/// order of the old ones.
DenseMap<Value, int64_t> mlir::dist::shrinkScratch(KernelGroup &group,
                                                   SmallVector<Value> &scratch,
                                                   int64_t maxBytes) {
  DenseMap<Value, int64_t> scratchSizes;
  int64_t total = 0;
  llvm::erase_if(scratch, [&](Value root) {
    SmallVector<std::pair<int64_t, int64_t>> digits; // stride, size
    const FlatBuffer *start = nullptr;
    int64_t elementBytes = 0;
    for (Member &member : group.members) {
      if (llvm::any_of(member.nest.gathers, [&](const FlatBuffer &gather) {
            return gather.root == root;
          }))
        return true;
      for (Access &access : member.nest.accesses) {
        if (access.buffer.root != root)
          continue;
        if (!access.linear || access.buffer.dynamicOffset ||
            (start && start->offset != access.buffer.offset))
          return true;
        start = &access.buffer;
        elementBytes = access.elementBytes;
        for (int dim : member.shared)
          if (!isSeparable(member.nest, access, dim))
            return true;
        for (auto [dim, stride] : llvm::enumerate(access.strides)) {
          std::pair<int64_t, int64_t> digit(stride, member.nest.sizes[dim]);
          if (stride == 0 || digit.second <= 1 ||
              llvm::is_contained(member.shared, int(dim)) ||
              llvm::is_contained(digits, digit))
            continue;
          digits.push_back(digit);
        }
      }
    }
    if (!start)
      return true;
    llvm::sort(digits);
    DenseMap<int64_t, int64_t> compact;
    int64_t count = 1, end = 1;
    for (auto [stride, size] : digits) {
      if (stride < end)
        return true; // overlapping digits
      end = stride * size;
      compact[stride] = count;
      count *= size;
    }
    if (total + count * elementBytes > maxBytes)
      return true;
    total += count * elementBytes;
    scratchSizes[root] = count;
    for (Member &member : group.members)
      for (Access &access : member.nest.accesses) {
        if (access.buffer.root != root)
          continue;
        access.buffer.offset = 0;
        for (auto [dim, stride] : llvm::enumerate(access.strides)) {
          bool outer = llvm::is_contained(member.shared, int(dim));
          if (outer || stride == 0 || member.nest.sizes[dim] <= 1)
            stride = 0;
          else
            stride = compact[stride];
        }
      }
    return false;
  });
  return scratchSizes;
}

/// Splits the members into runs with equal inner loops.
SmallVector<Run> mlir::dist::formRuns(const KernelGroup &group) {
  SmallVector<Run> runs;
  SmallVector<Member, 0> current; // members of the last run, with inner dims
  for (auto [index, member] : llvm::enumerate(group.members)) {
    SmallVector<int> inner;
    for (auto [dim, size] : llvm::enumerate(member.nest.sizes))
      if (size != 1 && !llvm::is_contained(member.shared, int(dim)))
        inner.push_back(dim);
    // The order of such loops is not to be another's.
    bool isApart = member.nest.isOrdered ||
                   (!current.empty() && current.back().nest.isOrdered);
    if (!isApart && !runs.empty() && runs.back().loops.size() == inner.size()) {
      Run &run = runs.back();
      SmallVector<int64_t> sizes;
      for (const Loop &loop : run.loops)
        sizes.push_back(loop.size);
      bool related = false;
      SmallVector<int> dims = matchLoops(current, sizes, member.nest,
                                         /*parallelOnly=*/false, related);
      bool fits = llvm::all_of(
          dims, [&](int dim) { return llvm::is_contained(inner, dim); });
      // What accumulates in memory must stay apart from what reads it: that is
      // a dependence, which matchLoops sees as a stride of zero. Without inner
      // loops, order alone keeps dependences.
      if (fits) {
        for (auto [loop, dim] : llvm::zip_equal(run.loops, dims))
          loop.dims.push_back(dim);
        run.members.push_back(index);
        current.push_back({member.nest, dims});
        continue;
      }
    }
    Run run;
    run.members.push_back(index);
    for (int dim : inner)
      run.loops.push_back({member.nest.sizes[dim], {dim}});
    current.assign(1, Member{member.nest, inner});
    runs.push_back(std::move(run));
  }
  return runs;
}

/// Joins loops that walk over memory as one.
void mlir::dist::coalesceLoops(const KernelGroup &group,
                               SmallVector<Loop> &loops,
                               ArrayRef<unsigned> members) {
  for (unsigned index : members)
    if (needsLoopIndices(group.members[index].nest))
      return;
  for (size_t outer = 0; outer + 1 < loops.size();) {
    Loop &a = loops[outer], &b = loops[outer + 1];
    bool fits = true;
    for (auto [index, dimA, dimB] : llvm::zip_equal(members, a.dims, b.dims)) {
      const LoopNest &nest = group.members[index].nest;
      fits &= nest.parallel[dimA] == nest.parallel[dimB];
      for (const Access &access : nest.accesses)
        fits &= access.strides[dimA] == access.strides[dimB] * b.size;
    }
    if (!fits) {
      ++outer;
      continue;
    }
    b.size *= a.size;
    loops.erase(loops.begin() + outer);
  }
}
