//===- MinCut.h - The cheapest cut of a graph -------------------*- C++ -*-===//
//
// Maximum flow by blocking flows in layers (Dinic 1970). The cut is that which
// leaves fewest nodes on the sink's side.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_MEMORY_MINCUT_H
#define DIST_PASSES_MEMORY_MINCUT_H

#include <cstdint>
#include <vector>

namespace mlir::dist {

class MinCut {
public:
  /// Of an edge that is not to be cut. All others together are less.
  static constexpr int64_t kUncut = INT64_MAX / 4;

  unsigned addNode();
  void addEdge(unsigned from, unsigned to, int64_t capacity);

  /// Call once, after all edges were added. What the cut costs; kUncut or more
  /// where there is none.
  int64_t cut(unsigned source, unsigned sink);
  /// Whether the node is on the sink's side of the cut.
  bool isBehindCut(unsigned node) const { return behind[node]; }

private:
  static constexpr unsigned kNone = ~0u;
  /// An edge and, next to it, the same backwards.
  struct Edge {
    unsigned to, next;
    int64_t left;
  };

  bool findLayers(unsigned source, unsigned sink);
  int64_t pushOnce(unsigned source, unsigned sink);

  std::vector<Edge> edges;
  /// By node: its first edge, the next one to try, and how far it is.
  std::vector<unsigned> first, current, layer;
  std::vector<unsigned> path;
  std::vector<bool> behind;
};

} // namespace mlir::dist

#endif // DIST_PASSES_MEMORY_MINCUT_H
