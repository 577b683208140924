//===- Mesh.h - Meshes, groups of ranks and cut dimensions ------*- C++ -*-===//
//
// Arithmetic on device meshes: coordinates, the groups that a communicator
// forms, and the blocks into which a sharded dimension is cut
// (docs/internals/levels.md, "Layout of a sharded dimension").
//
//===----------------------------------------------------------------------===//

#ifndef DIST_MESH_H
#define DIST_MESH_H

#include <cstdint>
#include <string>
#include <vector>

namespace dist {

/// The most ranks that a program may have.
constexpr int64_t maxRanks = int64_t(1) << 20;

struct MeshAxis {
  std::string name;
  int64_t size;
};

/// An axis of the mesh, or a part of one: the middle digit of an axis of size
/// n, viewed as pre x size x rest.
struct AxisRef {
  int32_t axis; // index in Mesh::axes
  int64_t pre = 1;
  int64_t size;
  /// n / (pre * size).
  int64_t rest = 1;
};

/// A grid of ranks, numbered row-major: the last axis varies fastest.
struct Mesh {
  std::vector<MeshAxis> axes;

  /// Number of ranks: the product of the axes, 1 without axes.
  int64_t size() const;
  /// Coordinate of `rank` along `axis`.
  int64_t coordinate(int64_t rank, int32_t axis) const;
  /// Coordinate of `rank` along a whole or partial axis.
  int64_t coordinate(int64_t rank, const AxisRef &ref) const;
  /// Index of the axis with this name, or -1.
  int32_t find(const std::string &name) const;
  /// The whole axis.
  AxisRef whole(int32_t axis) const;
};

/// Index of `rank` in the grid of `refs`, row-major in their order.
int64_t placeOf(const Mesh &mesh, const std::vector<AxisRef> &refs,
                int64_t rank);

/// A run of rows of a dimension.
struct Block {
  int64_t start; // first row in the whole dimension
  int64_t valid; // rows that are no padding
};

/// Number of rows with which every block of `whole` rows over axes of `sizes`
/// (major to minor) is stored: rounded up at each axis.
int64_t blockRows(const std::vector<int64_t> &sizes, int64_t whole);

/// The block with index `place` (row-major over `sizes`).
Block blockAt(const std::vector<int64_t> &sizes, int64_t whole, int64_t place);

/// A communicator of the program: the partition of the ranks into groups whose
/// members differ only along `refs`.
struct Communicator {
  Communicator(const Mesh &mesh, std::vector<AxisRef> refs);

  std::vector<AxisRef> refs;
  std::vector<int64_t> sizes; // of refs
  int64_t size;               // members of a group
  std::vector<int64_t> group; // of each rank
  std::vector<int64_t> place; // of each rank in its group
  /// Ranks of each group in the order of their indices.
  std::vector<std::vector<int64_t>> members;
};

} // namespace dist

#endif // DIST_MESH_H
