//===- RowPlan.cpp - Who has the rows that indices name -------------------===//

#include "RowPlan.h"

#include <algorithm>

using namespace dist;

RowPlan::RowPlan(int32_t comm, const Communicator &communicator, int64_t whole,
                 int64_t count, const int64_t *given)
    : comm(comm), whole(whole), indices(given, given + count) {
  for (int64_t i = 0; i < count && wrong < 0; ++i)
    if (indices[i] < 0 || indices[i] >= whole)
      wrong = i;
  if (wrong >= 0)
    return;
  // Counted by row: the indices of each in their order.
  std::vector<int64_t> ends(whole + 1);
  for (int64_t index : indices)
    ++ends[index + 1];
  for (int64_t row = 0; row < whole; ++row)
    ends[row + 1] += ends[row];
  users.resize(count);
  std::vector<int64_t> next(ends.begin(), ends.end() - 1);
  for (int64_t i = 0; i < count; ++i)
    users[next[indices[i]]++] = i;
  owners.resize(count);
  rows.resize(count);
  first.push_back(0);
  starts.push_back(0);
  // Blocks follow each other.
  for (int64_t owner = 0; owner < communicator.size; ++owner) {
    Block block = blockAt(communicator.sizes, whole, owner);
    for (int64_t row = 0; row < block.valid; ++row) {
      int64_t index = block.start + row;
      if (ends[index] == ends[index + 1])
        continue;
      for (int64_t i = ends[index]; i < ends[index + 1]; ++i) {
        owners[users[i]] = static_cast<int32_t>(owner);
        rows[users[i]] = row;
      }
      named.push_back(row);
      starts.push_back(ends[index + 1]);
    }
    first.push_back(named.size());
  }
}

bool RowPlan::isFor(int32_t otherComm, int64_t otherWhole, int64_t count,
                    const int64_t *given) const {
  return comm == otherComm && whole == otherWhole &&
         indices.size() == static_cast<size_t>(count) &&
         std::equal(indices.begin(), indices.end(), given);
}
