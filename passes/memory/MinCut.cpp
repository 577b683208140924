//===- MinCut.cpp - The cheapest cut of a graph ---------------------------===//

#include "passes/memory/MinCut.h"
#include <algorithm>

using namespace mlir::dist;

unsigned MinCut::addNode() {
  first.push_back(kNone);
  return first.size() - 1;
}

void MinCut::addEdge(unsigned from, unsigned to, int64_t capacity) {
  edges.push_back({to, first[from], capacity});
  first[from] = edges.size() - 1;
  edges.push_back({from, first[to], 0});
  first[to] = edges.size() - 1;
}

bool MinCut::findLayers(unsigned source, unsigned sink) {
  layer.assign(first.size(), kNone);
  layer[source] = 0;
  std::vector<unsigned> reached{source};
  for (size_t i = 0; i < reached.size() && layer[sink] == kNone; ++i)
    for (unsigned e = first[reached[i]]; e != kNone; e = edges[e].next)
      if (edges[e].left > 0 && layer[edges[e].to] == kNone) {
        layer[edges[e].to] = layer[reached[i]] + 1;
        reached.push_back(edges[e].to);
      }
  return layer[sink] != kNone;
}

/// The flow along one path through the layers; 0 if there is no path.
int64_t MinCut::pushOnce(unsigned source, unsigned sink) {
  path.clear();
  unsigned node = source;
  while (node != sink) {
    unsigned &e = current[node];
    while (e != kNone &&
           !(edges[e].left > 0 && layer[edges[e].to] == layer[node] + 1))
      e = edges[e].next;
    if (e != kNone) {
      path.push_back(e);
      node = edges[e].to;
      continue;
    }
    if (path.empty())
      return 0;
    node = edges[path.back() ^ 1].to;
    path.pop_back();
    current[node] = edges[current[node]].next;
  }
  int64_t amount = kUncut;
  for (unsigned e : path)
    amount = std::min(amount, edges[e].left);
  for (unsigned e : path) {
    edges[e].left -= amount;
    edges[e ^ 1].left += amount;
  }
  return amount;
}

int64_t MinCut::cut(unsigned source, unsigned sink) {
  int64_t flow = 0;
  while (flow < kUncut && findLayers(source, sink)) {
    current = first;
    while (int64_t pushed = pushOnce(source, sink))
      if ((flow += pushed) >= kUncut)
        break;
  }
  // Nodes that still lead to the sink.
  behind.assign(first.size(), false);
  behind[sink] = true;
  std::vector<unsigned> reached{sink};
  for (size_t i = 0; i < reached.size(); ++i)
    for (unsigned e = first[reached[i]]; e != kNone; e = edges[e].next)
      if (unsigned from = edges[e].to; edges[e ^ 1].left > 0 && !behind[from]) {
        behind[from] = true;
        reached.push_back(from);
      }
  return flow;
}
