//===- RowPlan.h - Who has the rows that indices name -----------*- C++ -*-===//
//
// The halo of a part of a graph: a member has a block of rows, and indices that
// name rows of any block. Of each row of others it needs a copy, once, or has a
// sum for it.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_RANK_ROWPLAN_H
#define DIST_RUNTIME_RANK_ROWPLAN_H

#include "dist/Mesh.h"

#include <cstdint>
#include <memory_resource>
#include <vector>

namespace dist {

/// Who has the rows that one member's indices name. Others read it: all of it
/// lies in the memory of its allocator.
class RowPlan {
public:
  using allocator_type = std::pmr::polymorphic_allocator<>;
  template <class T> using List = std::pmr::vector<T>;

  /// In time that is linear in the indices, or where these are few of many
  /// rows, theirs to sort.
  RowPlan(int32_t comm, const Communicator &communicator, int64_t whole,
          int64_t count, const int64_t *indices,
          const allocator_type &allocator = {});

  /// Whether these are the indices that it was made for.
  bool isFor(int32_t comm, int64_t whole, int64_t count,
             const int64_t *indices) const;

  int32_t comm;
  int64_t whole;
  List<int64_t> indices;
  /// The place of the first index that names no row, or -1.
  int64_t wrong = -1;
  /// For each index: the owner of the row, and its position in the owner's
  /// block.
  List<int32_t> owners;
  List<int64_t> rows;
  /// The rows that indices name, each once, by owner and row. Those of member m
  /// are named[first[m]] up to named[first[m + 1]]. Row i of these is named by
  /// the indices at users[starts[i]] up to users[starts[i + 1]].
  List<int64_t> first, named, starts, users;

  /// How many different rows of `owner` are named.
  int64_t namedOf(int64_t owner) const {
    return first[owner + 1] - first[owner];
  }
};

} // namespace dist

#endif // DIST_RUNTIME_RANK_ROWPLAN_H
