//===- MinCut.h - A minimum cut of a graph ----------------------*- C++ -*-===//
//
// Maximum flow by blocking flows in layers (Dinic 1970). Of all minimum cuts,
// the one with the fewest nodes on the sink's side.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_MEMORY_MINCUT_H
#define DIST_PASSES_MEMORY_MINCUT_H

#include <cstdint>
#include <vector>

namespace mlir::dist {

class MinCut {
public:
  /// The capacity of an edge that must not be cut. All other capacities
  /// together are less.
  static constexpr int64_t kUncut = INT64_MAX / 4;

  unsigned addNode();
  void addEdge(unsigned from, unsigned to, int64_t capacity);

  /// To be called once, after all edges were added. Returns the capacity of the
  /// cut; kUncut or more if there is no cut.
  int64_t cut(unsigned source, unsigned sink);
  /// Whether the node is on the sink's side of the cut.
  bool isBehindCut(unsigned node) const { return behind[node]; }

private:
  static constexpr unsigned kNone = ~0u;
  /// An edge; the next one in the list is its reverse.
  struct Edge {
    unsigned to, next;
    int64_t left;
  };

  bool findLayers(unsigned source, unsigned sink);
  int64_t pushOnce(unsigned source, unsigned sink);

  std::vector<Edge> edges;
  /// By node: its first edge, the next edge to try, and its distance.
  std::vector<unsigned> first, current, layer;
  std::vector<unsigned> path;
  std::vector<bool> behind;
};

} // namespace mlir::dist

#endif // DIST_PASSES_MEMORY_MINCUT_H
