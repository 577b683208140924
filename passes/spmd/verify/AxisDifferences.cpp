//===- AxisDifferences.cpp - Along what devices may differ ----------------===//

#include "passes/spmd/verify/AxisDifferences.h"

using namespace mlir;
using namespace mlir::dist;

unsigned AxisDifferences::intern(ArrayRef<unsigned> labels) {
  std::vector<unsigned> byLabel(labels.size() + 1, UINT_MAX);
  unsigned count = 0;
  Partition classes;
  classes.reserve(labels.size());
  for (unsigned label : labels) {
    if (byLabel[label] == UINT_MAX)
      byLabel[label] = count++;
    classes.push_back(byLabel[label]);
  }
  if (count <= 1)
    return 0;
  auto [found, isNew] =
      numbers.try_emplace(std::move(classes), partitions.size() + 1);
  if (isNew)
    partitions.push_back(&found->first);
  return found->second;
}

SmallVector<SmallVector<AxisRefAttr, 2>, 4>
AxisDifferences::sortByAxis(ArrayRef<AxisRefAttr> axes) {
  SmallVector<SmallVector<AxisRefAttr, 2>, 4> out(layout.getAxes().size());
  for (AxisRefAttr ref : axes)
    for (auto [axis, parts] : llvm::zip_equal(layout.getAxes(), out))
      if (axis.getName() == ref.getName())
        parts.push_back(ref);
  return out;
}

void AxisDifferences::forEachGroup(
    size_t axis, ArrayRef<AxisRefAttr> parts,
    function_ref<void(ArrayRef<int64_t>)> action) {
  int64_t size = layout.getAxes()[axis].getSize();
  // Of each part its size, and how far apart its members are.
  SmallVector<std::pair<int64_t, int64_t>, 2> steps;
  SmallVector<int64_t> offsets{0};
  for (AxisRefAttr part : parts) {
    int64_t count = layout.size(part), stride = size / (part.getPre() * count);
    steps.emplace_back(count, stride);
    SmallVector<int64_t> more;
    for (int64_t offset : offsets)
      for (int64_t i = 0; i < count; ++i)
        more.push_back(offset + i * stride);
    offsets = std::move(more);
  }
  // From the last member of a part on, the next would be of another group.
  auto isFirst = [&](int64_t coordinate) {
    return llvm::all_of(steps, [&](std::pair<int64_t, int64_t> step) {
      return coordinate / step.second % step.first == 0;
    });
  };
  SmallVector<int64_t> members(offsets.size());
  for (int64_t first = 0; first < size; ++first) {
    if (!isFirst(first))
      continue;
    for (auto [member, offset] : llvm::zip_equal(members, offsets))
      member = first + offset;
    action(members);
  }
}

unsigned AxisDifferences::keep(Known &known, unsigned partition,
                               ArrayRef<AxisRefAttr> parts,
                               function_ref<unsigned()> compute) {
  SmallVector<Attribute> key(parts.begin(), parts.end());
  auto [found, isNew] = known.try_emplace(
      {partition, ArrayAttr::get(layout.getContext(), key)}, 0);
  // Computing adds to other tables only.
  if (isNew)
    found->second = compute();
  return found->second;
}

unsigned AxisDifferences::getCoordinates(size_t axis,
                                         ArrayRef<AxisRefAttr> parts) {
  if (parts.empty())
    return 0;
  return keep(coordinates, 0, parts, [&] {
    std::vector<unsigned> labels(layout.getAxes()[axis].getSize());
    forEachGroup(axis, parts, [&](ArrayRef<int64_t> members) {
      for (auto [label, member] : llvm::enumerate(members))
        labels[member] = label;
    });
    return intern(labels);
  });
}

Difference AxisDifferences::of(ArrayRef<AxisRefAttr> axes) {
  Difference out;
  for (auto [axis, parts] : llvm::enumerate(sortByAxis(axes)))
    out.push_back(getCoordinates(axis, parts));
  return out;
}

Difference AxisDifferences::join(const Difference &a, const Difference &b) {
  if (a.empty() || b.empty())
    return a.empty() ? b : a;
  Difference out;
  for (auto [x, y] : llvm::zip_equal(a, b)) {
    if (x == y || y == 0 || x == 0) {
      out.push_back(std::max(x, y));
      continue;
    }
    auto [found, isNew] = joined.try_emplace(std::minmax(x, y), 0);
    if (isNew) {
      llvm::DenseMap<std::pair<unsigned, unsigned>, unsigned> pairs;
      std::vector<unsigned> labels;
      for (auto [first, second] :
           llvm::zip_equal(*partitions[x - 1], *partitions[y - 1]))
        labels.push_back(
            pairs.try_emplace({first, second}, pairs.size()).first->second);
      found->second = intern(labels);
    }
    out.push_back(found->second);
  }
  return out;
}

bool AxisDifferences::add(Difference &a, const Difference &b) {
  Difference both = join(a, b);
  bool isNew = both != a && llvm::any_of(both, [](unsigned n) { return n; });
  if (isNew)
    a = std::move(both);
  return isNew;
}

unsigned AxisDifferences::combineAlong(unsigned partition, size_t axis,
                                       ArrayRef<AxisRefAttr> parts) {
  if (partition == 0 || parts.empty())
    return partition;
  return keep(combined, partition, parts, [&] {
    const Partition &classes = *partitions[partition - 1];
    // What each group has, up to each member.
    llvm::DenseMap<std::pair<unsigned, unsigned>, unsigned> kinds;
    std::vector<unsigned> labels(classes.size());
    forEachGroup(axis, parts, [&](ArrayRef<int64_t> members) {
      unsigned kind = 0;
      for (int64_t member : members)
        kind = kinds.try_emplace({kind, classes[member]}, kinds.size() + 1)
                   .first->second;
      for (int64_t member : members)
        labels[member] = kind;
    });
    return intern(labels);
  });
}

Difference AxisDifferences::combine(const Difference &a,
                                    ArrayRef<AxisRefAttr> axes) {
  if (a.empty())
    return a;
  Difference out;
  for (auto [axis, parts] : llvm::enumerate(sortByAxis(axes)))
    out.push_back(combineAlong(a[axis], axis, parts));
  return out;
}

bool AxisDifferences::isWithinAlong(unsigned partition, size_t axis,
                                    ArrayRef<AxisRefAttr> parts) {
  if (partition == 0 || parts.empty())
    return false;
  return keep(within, partition, parts, [&] {
    const Partition &classes = *partitions[partition - 1];
    bool found = false;
    forEachGroup(axis, parts, [&](ArrayRef<int64_t> members) {
      for (int64_t member : members)
        found |= classes[member] != classes[members.front()];
    });
    return unsigned(found);
  });
}

bool AxisDifferences::isWithin(const Difference &a,
                               ArrayRef<AxisRefAttr> axes) {
  if (a.empty())
    return false;
  bool found = false;
  for (auto [axis, parts] : llvm::enumerate(sortByAxis(axes)))
    found |= isWithinAlong(a[axis], axis, parts);
  return found;
}
