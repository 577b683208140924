//===- MinCutTest.cpp - Cuts against all that there are -------------------===//

#include "passes/memory/MinCut.h"
#include "gtest/gtest.h"
#include <random>
#include <vector>

using namespace mlir::dist;

namespace {
struct Edge {
  unsigned from, to;
  int64_t capacity;
};

struct Graph {
  unsigned nodes;
  std::vector<Edge> edges;

  int64_t getCost(unsigned sinkSide) const {
    int64_t cost = 0;
    for (const Edge &edge : edges)
      if (!(sinkSide >> edge.from & 1) && (sinkSide >> edge.to & 1))
        cost += edge.capacity;
    return cost;
  }
};
} // namespace

// Nodes 0 and 1 are source and sink. All ways to divide the others are tried.
// The cheapest is wanted, and of these the one with the fewest on the sink's
// side, which is part of all others.
TEST(MinCut, IsTheSmallestOfAll) {
  std::mt19937 random(1);
  auto below = [&](unsigned end) { return unsigned(random() % end); };
  for (int round = 0; round < 2000; ++round) {
    Graph graph{3 + below(7), {}};
    for (unsigned count = below(4 * graph.nodes); count > 0; --count) {
      unsigned from = below(graph.nodes), to = below(graph.nodes);
      if (from != to && from != 1 && to != 0)
        graph.edges.push_back({from, to, int64_t(below(6))});
    }
    MinCut cut;
    for (unsigned i = 0; i < graph.nodes; ++i)
      cut.addNode();
    for (const Edge &edge : graph.edges)
      cut.addEdge(edge.from, edge.to, edge.capacity);
    int64_t cost = cut.cut(0, 1);
    int64_t least = INT64_MAX;
    unsigned common = ~0u;
    for (unsigned side = 0; side < 1u << graph.nodes; ++side) {
      if ((side & 1) || !(side & 2))
        continue;
      int64_t other = graph.getCost(side);
      if (other < least) {
        least = other;
        common = side;
      } else if (other == least) {
        common &= side;
      }
    }
    ASSERT_EQ(cost, least) << "round " << round;
    for (unsigned i = 0; i < graph.nodes; ++i)
      ASSERT_EQ(cut.isBehindCut(i), bool(common >> i & 1))
          << "round " << round << ", node " << i;
  }
}

TEST(MinCut, EdgesThatAreNotToBeCutStay) {
  MinCut cut;
  unsigned source = cut.addNode(), sink = cut.addNode(), op = cut.addNode(),
           value = cut.addNode(), next = cut.addNode(), last = cut.addNode();
  cut.addEdge(source, op, MinCut::kUncut);
  cut.addEdge(op, value, 10);
  cut.addEdge(value, next, MinCut::kUncut);
  cut.addEdge(next, last, 20);
  cut.addEdge(last, sink, MinCut::kUncut);
  EXPECT_EQ(cut.cut(source, sink), 10);
  EXPECT_FALSE(cut.isBehindCut(op));
  EXPECT_TRUE(cut.isBehindCut(value));
  EXPECT_TRUE(cut.isBehindCut(next));
}

// Layers of a chain, each with a source and a sink of its own: as many phases
// as there are lengths of paths, which are few.
TEST(MinCut, LongChains) {
  MinCut cut;
  unsigned source = cut.addNode(), sink = cut.addNode(), before = source;
  constexpr unsigned kLayers = 100000;
  for (unsigned i = 0; i < kLayers; ++i) {
    unsigned op = cut.addNode(), value = cut.addNode();
    cut.addEdge(source, op, MinCut::kUncut);
    cut.addEdge(before, op, MinCut::kUncut);
    cut.addEdge(op, value, 3);
    cut.addEdge(value, sink, MinCut::kUncut);
    before = value;
  }
  EXPECT_EQ(cut.cut(source, sink), 3 * int64_t(kLayers));
}
