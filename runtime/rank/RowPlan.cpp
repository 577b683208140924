//===- RowPlan.cpp - Who has the rows that indices name -------------------===//

#include "runtime/rank/RowPlan.h"

#include <algorithm>
#include <numeric>

using namespace dist;

/// The places of indices in the order of these, of equal ones the first first.
static void sortByRow(const RowPlan::List<int64_t> &indices, int64_t whole,
                      RowPlan::List<int64_t> &order) {
  int64_t count = indices.size();
  order.resize(count);
  if (whole / 8 > count) { // few of many rows
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return indices[a] < indices[b];
    });
    return;
  }
  std::vector<int64_t> next(whole + 1);
  for (int64_t index : indices)
    ++next[index + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  for (int64_t i = 0; i < count; ++i)
    order[next[indices[i]]++] = i;
}

RowPlan::RowPlan(int32_t comm, const Communicator &communicator, int64_t whole,
                 int64_t count, const int64_t *given,
                 const allocator_type &allocator)
    : comm(comm), whole(whole), indices(given, given + count, allocator),
      owners(allocator), rows(allocator), first(allocator), named(allocator),
      starts(allocator), users(allocator) {
  for (int64_t i = 0; i < count && wrong < 0; ++i)
    if (indices[i] < 0 || indices[i] >= whole)
      wrong = i;
  if (wrong >= 0)
    return;
  sortByRow(indices, whole, users);
  owners.resize(count);
  rows.resize(count);
  first.push_back(0);
  // Blocks follow each other.
  int64_t owner = -1;
  Block block{0, 0};
  for (int64_t i = 0; i < count; ++i) {
    int64_t index = indices[users[i]];
    while (block.valid == 0 || index >= block.start + block.valid) {
      if (++owner > 0)
        first.push_back(named.size());
      block = blockAt(communicator.sizes, whole, owner);
    }
    int64_t row = index - block.start;
    if (i == 0 || index != indices[users[i - 1]]) {
      named.push_back(row);
      starts.push_back(i);
    }
    owners[users[i]] = static_cast<int32_t>(owner);
    rows[users[i]] = row;
  }
  starts.push_back(count);
  first.resize(communicator.size + 1, named.size());
}

bool RowPlan::isFor(int32_t otherComm, int64_t otherWhole, int64_t count,
                    const int64_t *given) const {
  return comm == otherComm && whole == otherWhole &&
         indices.size() == static_cast<size_t>(count) &&
         std::equal(indices.begin(), indices.end(), given);
}
