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

/// A fill of one element per iteration of the shared loops would separate nests
/// that could share their inner loops: it is moved to the front if that is
/// legal.
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

namespace {
/// How a group walks over a buffer that nobody else uses.
struct ScratchUses {
  SmallVector<std::pair<Member *, Access *>> accesses;
  int64_t count = 0; // elements of one iteration of the shared loops
};
} // namespace

/// Whether the dimension of a member is one of the shared loops, or none at
/// all.
static bool isOuter(const Member &member, const Access &access, unsigned dim) {
  return access.strides[dim] == 0 || member.nest.sizes[dim] <= 1 ||
         llvm::is_contained(member.shared, int(dim));
}

/// Fails if anything but the group's loops determines the used part of the
/// buffer.
static LogicalResult findUses(KernelGroup &group, Value root,
                              ScratchUses &uses) {
  for (Member &member : group.members) {
    if (llvm::any_of(member.nest.gathers, [&](const FlatBuffer &gather) {
          return gather.root == root;
        }))
      return failure();
    for (Access &access : member.nest.accesses) {
      if (access.buffer.root != root)
        continue;
      if (!access.linear || access.buffer.dynamicOffset)
        return failure();
      uses.accesses.push_back({&member, &access});
    }
  }
  return success(!uses.accesses.empty());
}

/// All accesses start at the same place and walk over digits of one number:
/// their new strides are compact, in the order of the old ones.
static LogicalResult compactDigits(ScratchUses &uses,
                                   DenseMap<int64_t, int64_t> &compact) {
  SmallVector<std::pair<int64_t, int64_t>> digits; // stride, size
  for (auto [member, access] : uses.accesses) {
    if (access->buffer.offset != uses.accesses.front().second->buffer.offset)
      return failure();
    for (int dim : member->shared)
      if (!isSeparable(member->nest, *access, dim))
        return failure();
    for (auto [dim, stride] : llvm::enumerate(access->strides)) {
      std::pair<int64_t, int64_t> digit(stride, member->nest.sizes[dim]);
      if (!isOuter(*member, *access, dim) && !llvm::is_contained(digits, digit))
        digits.push_back(digit);
    }
  }
  llvm::sort(digits);
  int64_t count = 1, end = 1;
  for (auto [stride, size] : digits) {
    if (stride < end)
      return failure(); // overlapping digits
    end = stride * size;
    compact[stride] = count;
    count *= size;
  }
  uses.count = count;
  return success();
}

/// An iteration of the shared loops stays within one cell of the buffer, the
/// least of their strides: strides stay, within a cell.
static FailureOr<int64_t> findCell(ScratchUses &uses) {
  int64_t cell = INT64_MAX;
  auto [first, firstAccess] = uses.accesses.front();
  for (auto [member, access] : uses.accesses)
    for (auto [position, dim] : llvm::enumerate(member->shared)) {
      if (!shareCells(member->nest, *access, dim, first->nest, *firstAccess,
                      first->shared[position]))
        return failure();
      cell = std::min(cell, access->strides[dim]);
    }
  if (cell == INT64_MAX)
    return failure();
  for (auto [member, access] : uses.accesses) {
    int64_t end = access->buffer.offset % cell + 1;
    for (auto [dim, stride] : llvm::enumerate(access->strides)) {
      if (stride < 0)
        return failure();
      if (!isOuter(*member, *access, dim))
        end += (member->nest.sizes[dim] - 1) * stride;
    }
    uses.count = std::max(uses.count, end);
  }
  return cell;
}

/// A buffer that is used only within one iteration of the shared loops needs
/// only room for that iteration.
DenseMap<Value, int64_t> mlir::dist::shrinkScratch(KernelGroup &group,
                                                   SmallVector<Value> &scratch,
                                                   int64_t maxBytes) {
  DenseMap<Value, int64_t> scratchSizes;
  int64_t total = 0;
  llvm::erase_if(scratch, [&](Value root) {
    ScratchUses uses;
    if (failed(findUses(group, root, uses)))
      return true;
    DenseMap<int64_t, int64_t> compact;
    FailureOr<int64_t> cell = failure();
    bool isCompact = succeeded(compactDigits(uses, compact));
    if (!isCompact && failed(cell = findCell(uses)))
      return true;
    int64_t bytes = uses.count * uses.accesses.front().second->elementBytes;
    if (total + bytes > maxBytes)
      return true;
    total += bytes;
    scratchSizes[root] = uses.count;
    for (auto [member, access] : uses.accesses) {
      access->buffer.offset = isCompact ? 0 : access->buffer.offset % *cell;
      for (auto [dim, stride] : llvm::enumerate(access->strides)) {
        if (isOuter(*member, *access, dim))
          stride = 0;
        else if (isCompact)
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
      // Accumulation in memory must stay separate from its readers: that is a
      // dependence, which matchLoops sees as a stride of zero. Without inner
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
      // The order of a sum must not depend on how many turns are between them.
      fits &= nest.parallel[dimA] || dimB == dimA + 1;
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
