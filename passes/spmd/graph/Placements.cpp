//===- Placements.cpp - Where values are placed, and why ------------------===//

#include "passes/spmd/graph/Placements.h"

using namespace mlir;
using namespace mlir::dist;

Placements::Placements(const PlacementGraph &graph, const MeshLayout &layout)
    : graph(graph), layout(layout), pinned(graph.getValues().size(), false) {
  DimState unsharded;
  unsharded.sharding = layout.none();
  firstDim.reserve(graph.getValues().size() + 1);
  for (Value value : graph.getValues()) {
    auto type = cast<RankedTensorType>(value.getType());
    dims.resize(dims.size() + type.getRank(), unsharded);
    firstDim.push_back(dims.size());
  }
}

ShardingAttr Placements::getSharding(unsigned value) const {
  if (value < finalShardings.size() && finalShardings[value])
    return finalShardings[value];
  SmallVector<DimShardingAttr, 4> out;
  for (const DimState &state : getDims(value))
    out.push_back(state.sharding);
  auto sharding = ShardingAttr::get(layout.getContext(), layout.getName(), out,
                                    ReductionKind::Sum, {});
  if (value < finalShardings.size())
    finalShardings[value] = sharding;
  return sharding;
}

bool Placements::fits(unsigned value, unsigned dim,
                      DimShardingAttr sharding) const {
  SmallVector<AxisRefAttr> axes = sharding.getAllAxes();
  if (auto kept = whole.find(value);
      kept != whole.end() && anyOverlap(axes, kept->second))
    return false;
  for (auto [other, state] : llvm::enumerate(getDims(value)))
    if (other != dim && state.sharding != layout.none() &&
        anyOverlap(axes, state.sharding.getAllAxes()))
      return false;
  return true;
}

DimShardingAttr Placements::getShardingForUse(unsigned value,
                                              unsigned dim) const {
  DimShardingAttr sharding = getDims(value)[dim].sharding;
  ArrayRef<AxisRefAttr> axes = getStoredAxes(value);
  if (axes.empty() || sharding == layout.none())
    return sharding;
  SmallVector<Piece, 2> pieces =
      layout.pieces(sharding, graph.getType(value).getDimSize(dim));
  for (Piece &piece : pieces) {
    auto *first = llvm::find_if(
        piece.axes, [&](AxisRefAttr axis) { return anyOverlap(axis, axes); });
    piece.axes.erase(first, piece.axes.end());
  }
  return layout.canonical(pieces);
}
