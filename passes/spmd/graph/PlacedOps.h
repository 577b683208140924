//===- PlacedOps.h - Makes, places and erases ops of level 2 ----*- C++ -*-===//

#ifndef DIST_PASSES_SPMD_GRAPH_PLACEDOPS_H
#define DIST_PASSES_SPMD_GRAPH_PLACEDOPS_H

#include "dialects/dist/Interfaces/Placement.h"

namespace mlir::dist {

class PlacedOps {
public:
  PlacedOps(const PlacedOps &) = delete;
  explicit PlacedOps(const MeshLayout &layout)
      : layout(layout), context(layout.getContext()),
        shardingsName(StringAttr::get(context, kShardingsAttr)) {}
  virtual ~PlacedOps() {
    for (Operation *op : erased)
      op->destroy();
  }

  /// Records the placements of all results of an op, and writes them on it.
  void setShardings(Operation *op, ArrayRef<Attribute> shardings) {
    changed = true;
    op->setDiscardableAttr(shardingsName, ArrayAttr::get(context, shardings));
  }
  bool hasShardings(Operation *op) const {
    return op->getDiscardableAttr(shardingsName) != nullptr;
  }

  /// Equal placements are one attribute.
  ShardingAttr place(ArrayRef<DimShardingAttr> dims,
                     ReductionKind kind = ReductionKind::Sum,
                     ArrayRef<AxisRefAttr> partial = {}) const;
  ShardingAttr replicated(Value value) const {
    return ShardingAttr::getReplicated(
        layout.getName(), cast<RankedTensorType>(value.getType()).getRank());
  }

  /// A free value, created as `wanted`.
  Value makeFree(Value value, ShardingAttr wanted);
  Value makeReshard(OpBuilder &builder, Location loc, Value value,
                    ShardingAttr from, ShardingAttr to, StringRef cause,
                    Attribute scope);

  /// Removes an op without users. Its memory stays as long as this object:
  /// ops and values are known by their address, so no other may get the same
  /// one.
  void erase(Operation *op) {
    changed = true;
    op->remove();
    op->dropAllReferences();
    erased.push_back(op);
  }

  /// Whether an op was made, placed, erased, or is noted to have changed.
  bool hasChanged() const { return changed; }
  void noteChange() { changed = true; }

protected:
  /// Is told of each result that is made.
  virtual void notePlacement(Value, ShardingAttr) {}

  const MeshLayout &layout;
  MLIRContext *context;
  StringAttr shardingsName;

private:
  /// Free values created so far.
  llvm::DenseMap<std::pair<Value, Attribute>, Value> versions;
  SmallVector<Operation *> erased;
  bool changed = false;
};

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_GRAPH_PLACEDOPS_H
