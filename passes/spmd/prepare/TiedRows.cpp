//===- TiedRows.cpp - Dimensions that ops have in common ------------------===//

#include "passes/spmd/prepare/TiedRows.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/spmd/graph/MovedValues.h"
#include "passes/spmd/graph/Windows.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace mlir::dist;

int64_t TiedRows::Needs::getHaloBytes(const MeshLayout &layout,
                                      DimShardingAttr dim) const {
  int64_t most = 0;
  for (const Read &read : reads) {
    WindowPlan plan(layout, dim, read.size, read.iterations, read.window);
    most = std::max(most,
                    (plan.isExchanged ? plan.sent : read.size) * read.rowBytes);
  }
  return most;
}

/// Ties the dimensions of one factor alone, of which none is read in windows.
void TiedRows::tie() {
  for (const PlacementGraph::Node &node : graph.getNodes()) {
    ArrayRef<unsigned> links = graph.getLinks(node);
    SmallVector<unsigned> tied(node.rule->factors.size(),
                               PlacementGraph::kNone);
    for (auto [number, value] : llvm::enumerate(links)) {
      if (value == PlacementGraph::kNone)
        continue;
      size_t operands = node.rule->operands.size();
      const TensorRule &tensor = number < operands
                                     ? node.rule->operands[number]
                                     : node.rule->results[number - operands];
      for (auto [dim, list] : llvm::enumerate(tensor.dims)) {
        if (list.size() != 1 || tensor.getWindow(dim))
          continue;
        unsigned &other = tied[list[0]];
        if (other == PlacementGraph::kNone)
          other = first[value] + dim;
        else
          ties.join(other, first[value] + dim);
      }
    }
  }
  ties.compress();
}

/// Bytes of a value that is gathered along merged rows: where these are merged
/// it may be gathered before, but ops on merged rows stay where they are.
static int64_t getGatherBytes(Value value, unsigned dim) {
  auto collapse = value.getDefiningOp<tensor::CollapseShapeOp>();
  return collapse && collapse.getReassociationIndices()[dim].size() > 1
             ? getLeastBytes(value)
             : getTensorBytes(value.getType());
}

void TiedRows::read(Value value, const Window &window, int64_t iterations) {
  unsigned index = graph.getIndex(value);
  if (index == PlacementGraph::kNone)
    return;
  RankedTensorType type = graph.getType(index);
  int64_t size = type.getDimSize(window.dim);
  if (!type.hasStaticShape() || size == 0 || iterations <= 0)
    return;
  Needs &found = needs[getTie(index, window.dim)];
  found.whole = std::min(found.whole, getGatherBytes(value, window.dim));
  found.reads.push_back(
      {getTensorBytes(type) / size, size, iterations, window});
}

/// Steps from an operand that an op reads in windows to its result, or from a
/// result in windows.
void TiedRows::addSteps(const PlacementGraph::Node &node) {
  ArrayRef<unsigned> links = graph.getLinks(node);
  const ShardingRule &rule = *node.rule;
  size_t operands = rule.operands.size();
  SmallVector<SmallVector<unsigned, 1>> from(rule.factors.size());
  auto visit = [&](size_t number, const TensorRule &tensor, auto note) {
    if (links[number] != PlacementGraph::kNone)
      for (auto [dim, list] : llvm::enumerate(tensor.dims))
        if (list.size() == 1)
          note(list[0], getTie(links[number], dim));
  };
  for (auto [number, tensor] : llvm::enumerate(rule.operands))
    visit(number, tensor,
          [&](unsigned factor, unsigned tie) { from[factor].push_back(tie); });
  for (auto [number, tensor] : llvm::enumerate(rule.results))
    visit(operands + number, tensor, [&](unsigned factor, unsigned tie) {
      if (rule.factors[factor].inBlocks)
        for (unsigned before : from[factor])
          if (before != tie)
            addStep(before, tie);
    });
}

SmallVector<DimShardingAttr, 0>
TiedRows::inferBlocks(const Placements &placements,
                      const MeshLayout &layout) const {
  unsigned count = ties.getNumClasses();
  SmallVector<DimShardingAttr, 0> blocks(count);
  SmallVector<unsigned> reached;
  llvm::BitVector isClosed(count);
  for (unsigned index = 0; index < first.size(); ++index)
    for (auto [dim, state] : llvm::enumerate(placements.getDims(index))) {
      unsigned tie = getTie(index, dim);
      if (state.isClosed)
        isClosed.set(tie);
      if (state.sharding == layout.none() || blocks[tie] ||
          state.sharding.getSubDims().size() != 1)
        continue;
      blocks[tie] = state.sharding;
      reached.push_back(tie);
    }
  SmallVector<std::pair<unsigned, unsigned>, 0> sorted(steps);
  llvm::sort(sorted);
  while (!reached.empty()) {
    unsigned from = reached.pop_back_val();
    for (auto *step = llvm::lower_bound(sorted, std::make_pair(from, 0u));
         step != sorted.end() && step->first == from; ++step) {
      unsigned to = step->second;
      if (blocks[to] || isClosed[to])
        continue;
      blocks[to] = blocks[from];
      reached.push_back(to);
    }
  }
  return blocks;
}

TiedRows::TiedRows(const PlacementGraph &graph, const Placements &placements,
                   const MeshLayout &layout)
    : graph(graph) {
  unsigned dims = 0;
  for (Value value : graph.getValues()) {
    first.push_back(dims);
    dims += cast<RankedTensorType>(value.getType()).getRank();
  }
  ties.grow(dims);
  tie();
  needs.resize(ties.getNumClasses());
  for (const PlacementGraph::Node &node : graph.getNodes()) {
    addSteps(node);
    size_t operands = node.rule->operands.size();
    for (auto [number, index] : llvm::enumerate(graph.getLinks(node))) {
      if (index == PlacementGraph::kNone)
        continue;
      const TensorRule &tensor = number < operands
                                     ? node.rule->operands[number]
                                     : node.rule->results[number - operands];
      for (Window window : tensor.windows) {
        Value value = graph.getValues()[index];
        int64_t iterations =
            node.rule->factors[tensor.dims[window.dim][0]].size;
        // Rows that are read of a pad are sent of its operand.
        auto pad = value.getDefiningOp<tensor::PadOp>();
        if (pad && isa<linalg::LinalgOp>(node.op) &&
            pad.getSourceType().hasStaticShape() &&
            !ShapedType::isDynamic(pad.getStaticLow()[window.dim])) {
          value = pad.getSource();
          window.offset -= pad.getStaticLow()[window.dim];
        }
        read(value, window, iterations);
      }
    }
  }
  // What an annotation has in blocks.
  for (auto [index, value] : llvm::enumerate(graph.getValues()))
    for (auto [dim, state] : llvm::enumerate(placements.getDims(index)))
      if (state.sharding != layout.none() &&
          state.node == PlacementGraph::kNone &&
          state.sharding.getSubDims().size() == 1) {
        int64_t &whole = needs[getTie(index, dim)].whole;
        whole = std::min(whole, getGatherBytes(value, dim));
      }
}
