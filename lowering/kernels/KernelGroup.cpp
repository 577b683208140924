//===- KernelGroup.cpp - Which loop nests share their loops ---------------===//

#include "lowering/kernels/KernelGroup.h"

using namespace mlir;
using namespace mlir::dist;

bool KernelGroup::mayTouch(const FlatBuffer &buffer) const {
  return llvm::any_of(members,
                      [&](const Member &m) { return m.nest.mayTouch(buffer); });
}

static bool sameStart(const FlatBuffer &a, const FlatBuffer &b) {
  return a.offset == b.offset && a.dynamicOffset == b.dynamicOffset;
}

SmallVector<int> mlir::dist::matchLoops(ArrayRef<Member> members,
                                        ArrayRef<int64_t> sizes,
                                        const LoopNest &nest, bool parallelOnly,
                                        bool &related) {
  SmallVector<int> required(sizes.size(), -1), hinted(sizes.size(), -1);
  SmallVector<bool> conflict(sizes.size(), false);
  auto forbidAll = [&] { conflict.assign(sizes.size(), true); };

  for (const Member &member : members) {
    for (const FlatBuffer &gather : nest.gathers)
      if (member.nest.mayWrite(gather))
        forbidAll();
    for (const FlatBuffer &gather : member.nest.gathers)
      if (nest.mayWrite(gather))
        forbidAll();
    for (const Access &theirs : member.nest.accesses) {
      for (const Access &ours : nest.accesses) {
        bool dependent = theirs.writes || ours.writes;
        if (theirs.buffer.root != ours.buffer.root) {
          if (dependent && mayAlias(theirs.buffer, ours.buffer))
            forbidAll();
          continue;
        }
        related = true;
        bool startsEqually = sameStart(theirs.buffer, ours.buffer);
        if (!theirs.linear || !ours.linear || (!dependent && !startsEqually)) {
          if (dependent)
            forbidAll();
          continue;
        }
        for (auto [loop, size] : llvm::enumerate(sizes)) {
          unsigned theirDim = member.shared[loop];
          int64_t stride = theirs.strides[theirDim];
          int found = -1;
          for (unsigned dim = 0; dim < nest.sizes.size() && stride; ++dim)
            if (nest.sizes[dim] == size && ours.strides[dim] == stride &&
                (nest.parallel[dim] || !parallelOnly))
              found = dim;
          if (!dependent) {
            if (found >= 0 && hinted[loop] < 0)
              hinted[loop] = found;
            continue;
          }
          bool isApart =
              found >= 0 &&
              (startsEqually ? isSeparable(member.nest, theirs, theirDim) &&
                                   isSeparable(nest, ours, found)
                             : shareCells(member.nest, theirs, theirDim, nest,
                                          ours, found));
          if (!isApart || (required[loop] >= 0 && required[loop] != found))
            conflict[loop] = true;
          else
            required[loop] = found;
        }
      }
    }
  }
  SmallVector<int> result(sizes.size(), -1);
  for (size_t loop = 0; loop < sizes.size(); ++loop) {
    if (conflict[loop])
      continue;
    int dim = required[loop] >= 0 ? required[loop] : hinted[loop];
    if (dim >= 0 && !llvm::is_contained(result, dim))
      result[loop] = dim;
  }
  return result;
}

/// Whether the loop walks over single elements while the nest's own loops make
/// strides (GroupLimits::keepsRowsInside).
static bool walksColumns(const Member &member, size_t loop) {
  int own = member.shared[loop];
  for (const Access &access : member.nest.accesses) {
    if (!access.linear || access.strides[own] != 1)
      continue;
    for (auto [dim, stride] : llvm::enumerate(access.strides))
      if (stride > 1 && member.nest.sizes[dim] > 1 &&
          !llvm::is_contained(member.shared, int(dim)))
        return true;
  }
  return false;
}

/// Bytes of the buffers that a member writes in one iteration of the shared
/// loops.
static int64_t cellBytes(const Member &member) {
  int64_t bytes = 0;
  for (const Access &access : member.nest.accesses) {
    if (!access.writes)
      continue;
    int64_t count = 1;
    for (auto [dim, size] : llvm::enumerate(member.nest.sizes))
      if (access.linear && access.strides[dim] != 0 &&
          !llvm::is_contained(member.shared, int(dim)))
        count *= size;
    bytes += count * access.elementBytes;
  }
  return bytes;
}

static void dropLoop(KernelGroup &group, size_t loop) {
  group.sizes.erase(group.sizes.begin() + loop);
  for (Member &member : group.members)
    member.shared.erase(member.shared.begin() + loop);
}

/// The nest alone: all its parallel loops could be shared.
static KernelGroup startGroup(const LoopNest &nest) {
  KernelGroup group;
  Member member{nest, {}};
  bool linear = llvm::all_of(
      nest.accesses, [](const Access &access) { return access.linear; });
  for (auto [dim, size] : llvm::enumerate(nest.sizes)) {
    if (!linear || !nest.parallel[dim] || size <= 1)
      continue;
    group.sizes.push_back(size);
    member.shared.push_back(dim);
  }
  group.members.push_back(std::move(member));
  return group;
}

/// Adds `nest`; the loops that it cannot share are dropped.
static bool add(KernelGroup &group, const LoopNest &nest) {
  if (nest.isEmpty())
    return false;
  bool related = false;
  SmallVector<int> dims = matchLoops(group.members, group.sizes, nest,
                                     /*parallelOnly=*/true, related);
  if (!related)
    return false;
  for (size_t loop = dims.size(); loop-- > 0;) {
    if (dims[loop] >= 0)
      continue;
    dims.erase(dims.begin() + loop);
    dropLoop(group, loop);
  }
  group.members.push_back({nest, dims});
  return !group.sizes.empty();
}

bool mlir::dist::join(KernelGroup &group, const Unit &unit,
                      const GroupLimits &limits) {
  KernelGroup trial;
  if (group.empty()) {
    trial = startGroup(unit.back());
  } else {
    if (group.members.size() + unit.size() > limits.maxMembers)
      return false;
    trial = group;
    if (!add(trial, unit.back()))
      return false;
  }
  // The fills go before the ops that accumulate on them.
  for (const LoopNest &fill : llvm::drop_end(unit)) {
    if (!add(trial, fill))
      return false;
    std::swap(trial.members[trial.members.size() - 2], trial.members.back());
  }
  if (trial.members.size() > 1) {
    for (size_t loop = trial.sizes.size();
         limits.keepsRowsInside && loop-- > 0;)
      if (llvm::any_of(trial.members, [&](const Member &member) {
            return walksColumns(member, loop);
          }))
        dropLoop(trial, loop);
    if (trial.sizes.empty())
      return false;
    if (trial.sizes.size() != group.sizes.size() || group.empty())
      for (const Member &member : trial.members)
        if (cellBytes(member) > limits.maxCellBytes)
          return false;
  }
  group = std::move(trial);
  return true;
}
