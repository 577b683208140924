//===- Mesh.cpp - Meshes, groups of ranks and cut dimensions --------------===//

#include "dist/Mesh.h"

#include <algorithm>
#include <map>

using namespace dist;

int64_t Mesh::size() const {
  int64_t product = 1;
  for (const MeshAxis &axis : axes)
    product *= axis.size;
  return product;
}

int64_t Mesh::coordinate(int64_t rank, int32_t axis) const {
  int64_t inner = 1;
  for (size_t i = axis + 1; i < axes.size(); ++i)
    inner *= axes[i].size;
  return rank / inner % axes[axis].size;
}

int64_t Mesh::coordinate(int64_t rank, const AxisRef &ref) const {
  return coordinate(rank, ref.axis) / ref.rest % ref.size;
}

int32_t Mesh::find(const std::string &name) const {
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i].name == name)
      return static_cast<int32_t>(i);
  return -1;
}

AxisRef Mesh::whole(int32_t axis) const {
  return {axis, 1, axes[axis].size, 1};
}

int64_t dist::placeOf(const Mesh &mesh, const std::vector<AxisRef> &refs,
                      int64_t rank) {
  int64_t place = 0;
  for (const AxisRef &ref : refs)
    place = place * ref.size + mesh.coordinate(rank, ref);
  return place;
}

static int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t dist::blockRows(const std::vector<int64_t> &sizes, int64_t whole) {
  for (int64_t size : sizes)
    whole = ceilDiv(whole, size);
  return whole;
}

Block dist::blockAt(const std::vector<int64_t> &sizes, int64_t whole,
                    int64_t place) {
  int64_t digits = 1;
  for (int64_t size : sizes)
    digits *= size;
  // At each level `rows` are stored, of which the first `valid` are real.
  int64_t start = 0, rows = whole, valid = whole;
  for (int64_t size : sizes) {
    digits /= size;
    int64_t digit = place / digits % size;
    rows = ceilDiv(rows, size);
    start += digit * rows;
    valid = std::clamp<int64_t>(valid - digit * rows, 0, rows);
  }
  return {start, valid};
}

Communicator::Communicator(const Mesh &mesh, std::vector<AxisRef> axisRefs)
    : refs(std::move(axisRefs)), size(1) {
  for (const AxisRef &ref : refs) {
    sizes.push_back(ref.size);
    size *= ref.size;
  }
  int64_t ranks = mesh.size();
  group.resize(ranks);
  place.resize(ranks);
  // What remains of a rank's index without its digits along refs names its
  // group.
  std::map<int64_t, int64_t> groups;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    int64_t key = rank;
    for (const AxisRef &ref : refs) {
      int64_t inner = ref.rest;
      for (size_t i = ref.axis + 1; i < mesh.axes.size(); ++i)
        inner *= mesh.axes[i].size;
      key -= mesh.coordinate(rank, ref) * inner;
    }
    auto [it, isNew] = groups.try_emplace(key, members.size());
    if (isNew)
      members.emplace_back(size, -1);
    group[rank] = it->second;
    place[rank] = placeOf(mesh, refs, rank);
    members[it->second][place[rank]] = rank;
  }
}
