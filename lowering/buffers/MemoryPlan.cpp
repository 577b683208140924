//===- MemoryPlan.cpp - Places of buffers in an arena ---------------------===//

#include "lowering/buffers/MemoryPlan.h"
#include "lowering/bounds/Bounds.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"
#include <map>
#include <set>

using namespace mlir::dist;

namespace {

/// Free gaps by offset and by size; the gap after the last buffer is endless.
class FreeList {
public:
  int64_t allocate(int64_t bytes) {
    auto best = bySize.lower_bound({bytes, 0});
    int64_t offset;
    if (best != bySize.end()) {
      auto [size, at] = *best;
      remove(at, size);
      if (size > bytes)
        insert(at + bytes, size - bytes);
      offset = at;
    } else {
      offset = top;
      // A gap that ends at the top grows.
      if (!byOffset.empty()) {
        auto [at, size] = *byOffset.rbegin();
        if (at + size == top) {
          remove(at, size);
          offset = at;
        }
      }
      top = offset + bytes;
      high = std::max(high, top);
    }
    return offset;
  }

  void release(int64_t offset, int64_t bytes) {
    auto next = byOffset.lower_bound(offset);
    if (next != byOffset.end() && next->first == offset + bytes) {
      int64_t size = next->second;
      remove(next->first, size);
      bytes += size;
    }
    auto previous = byOffset.lower_bound(offset);
    if (previous != byOffset.begin()) {
      --previous;
      auto [at, size] = *previous;
      if (at + size == offset) {
        remove(at, size);
        offset = at;
        bytes += size;
      }
    }
    insert(offset, bytes);
  }

  int64_t highest() const { return high; }

private:
  void insert(int64_t offset, int64_t size) {
    byOffset[offset] = size;
    bySize.insert({size, offset});
  }
  void remove(int64_t offset, int64_t size) {
    byOffset.erase(offset);
    bySize.erase({size, offset});
  }

  std::map<int64_t, int64_t> byOffset;
  std::set<std::pair<int64_t, int64_t>> bySize;
  int64_t top = 0, high = 0;
};

} // namespace

/// In the order of time, best fit.
static int64_t placeByTime(llvm::ArrayRef<LiveRange> ranges,
                           llvm::ArrayRef<int64_t> sizes,
                           llvm::SmallVectorImpl<int64_t> &offsets) {
  auto order = llvm::to_vector(llvm::seq<size_t>(0, ranges.size()));
  llvm::stable_sort(order, [&](size_t a, size_t b) {
    return ranges[a].start < ranges[b].start;
  });
  std::multimap<int64_t, size_t> alive; // by end
  FreeList free;
  for (size_t index : order) {
    while (!alive.empty() && alive.begin()->first < ranges[index].start) {
      size_t dead = alive.begin()->second;
      alive.erase(alive.begin());
      free.release(offsets[dead], sizes[dead]);
    }
    if (sizes[index] == 0)
      continue;
    offsets[index] = free.allocate(sizes[index]);
    alive.insert({ranges[index].end, index});
  }
  return free.highest();
}

/// The largest buffer first, each in the smallest gap between those already
/// placed that are alive at the same time. (Pisarchyk and Lee, "Efficient
/// Memory Management for Deep Neural Net Inference", 2020: greedy by size.)
static int64_t placeBySize(llvm::ArrayRef<LiveRange> ranges,
                           llvm::ArrayRef<int64_t> sizes,
                           llvm::SmallVectorImpl<int64_t> &offsets) {
  auto order = llvm::to_vector(llvm::seq<size_t>(0, ranges.size()));
  llvm::stable_sort(order,
                    [&](size_t a, size_t b) { return sizes[a] > sizes[b]; });
  llvm::SmallVector<size_t> placed; // sorted by offset
  int64_t high = 0;
  for (size_t index : order) {
    if (sizes[index] == 0)
      continue;
    int64_t best = -1, bestGap = INT64_MAX, top = 0;
    for (size_t other : placed) {
      if (ranges[other].end < ranges[index].start ||
          ranges[index].end < ranges[other].start)
        continue;
      int64_t gap = offsets[other] - top;
      if (gap >= sizes[index] && gap < bestGap) {
        best = top;
        bestGap = gap;
      }
      top = std::max(top, offsets[other] + sizes[other]);
    }
    offsets[index] = best >= 0 ? best : top;
    high = std::max(high, offsets[index] + sizes[index]);
    auto *position = llvm::upper_bound(placed, index, [&](size_t a, size_t b) {
      return offsets[a] < offsets[b];
    });
    placed.insert(position, index);
  }
  return high;
}

MemoryPlan mlir::dist::planMemory(llvm::ArrayRef<LiveRange> ranges,
                                  int64_t alignment) {
  MemoryPlan plan;
  plan.offsets.assign(ranges.size(), 0);
  llvm::SmallVector<int64_t> sizes;
  // Starts before ends at one time: both ends count as alive.
  llvm::SmallVector<std::pair<int64_t, int64_t>> changes;
  for (const LiveRange &range : ranges) {
    sizes.push_back(llvm::alignTo(range.bytes, alignment));
    changes.push_back({2 * range.start, range.bytes});
    changes.push_back({2 * range.end + 1, -range.bytes});
  }
  llvm::sort(changes);
  int64_t now = 0;
  for (auto [time, bytes] : changes) {
    now += bytes;
    plan.liveBytes = std::max(plan.liveBytes, now);
  }
  plan.bytes = placeByTime(ranges, sizes, plan.offsets);
  if (ranges.size() <= kMostQuadratic) {
    llvm::SmallVector<int64_t> other(ranges.size(), 0);
    int64_t bytes = placeBySize(ranges, sizes, other);
    if (bytes < plan.bytes) {
      plan.bytes = bytes;
      plan.offsets = other;
    }
  }
  return plan;
}
