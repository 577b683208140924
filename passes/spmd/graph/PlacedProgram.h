//===- PlacedProgram.h - The placements of a level-2 program ----*- C++ -*-===//
//
// Read from the program itself: those of ops from `dist.shardings`, those of a
// function's arguments from `dist.sharding`. Arguments of other blocks are
// placed as the values that flow into them.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SPMD_GRAPH_PLACEDPROGRAM_H
#define DIST_PASSES_SPMD_GRAPH_PLACEDPROGRAM_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/spmd/graph/PlacedOps.h"

namespace mlir::dist {

class PlacedProgram : public PlacedOps {
public:
  explicit PlacedProgram(const MeshLayout &layout)
      : PlacedOps(layout),
        askedForName(StringAttr::get(context, kAskedForAttr)) {}
  const MeshLayout &getLayout() const { return layout; }

  /// Reads the placements of all block arguments.
  void read(FunctionOpInterface function);
  /// Reads those of the function's own arguments.
  void readArguments(FunctionOpInterface function);
  /// Reads those of block arguments that `from` passes values to. A value that
  /// comes first counts.
  void readInputs(const RegionBranchSuccessorMapping &targets, Operation *from);

  /// Null for values that have none.
  ShardingAttr getPlacement(Value value) const {
    if (isa<BlockArgument>(value))
      return arguments.lookup(value);
    auto array = dyn_cast_or_null<ArrayAttr>(
        value.getDefiningOp()->getDiscardableAttr(shardingsName));
    return array ? dyn_cast<ShardingAttr>(
                       array[cast<OpResult>(value).getResultNumber()])
                 : ShardingAttr();
  }

  /// Whether it is a parameter that is stored sharded, and gathered where it is
  /// used.
  bool isStored(Value value) const;

  /// Whether somebody wants the value placed as it is (`dist.asked_for`).
  bool isAskedFor(Value value) const { return getAskedFor(value) != nullptr; }
  /// Whether the collective that leads there is prescribed, too.
  bool isCollectiveAskedFor(Value value) const {
    StringAttr asked = getAskedFor(value);
    return asked && asked != kAskedForPlacement;
  }
  /// Whether the reshard that makes it was in the program before.
  bool isReshardAskedFor(Value value) const {
    StringAttr asked = getAskedFor(value);
    return asked && asked == kAskedForReshard;
  }
  void setAskedFor(Operation *op, StringRef what) {
    op->setDiscardableAttr(askedForName, StringAttr::get(context, what));
  }

private:
  void readOp(Operation *op);
  StringAttr getAskedFor(Value value) const {
    Operation *op = value.getDefiningOp();
    return op ? dyn_cast_or_null<StringAttr>(
                    op->getDiscardableAttr(askedForName))
              : StringAttr();
  }

  StringAttr askedForName;
  llvm::DenseMap<Value, ShardingAttr> arguments;
};

/// Calls `visit` for each function with a body, once the placements of its
/// block arguments are read; for none if the module has no mesh. The result is
/// whether anything changed. Fails, with an error, if the module uses several.
FailureOr<bool> visitPlacedFunctions(
    ModuleOp module,
    function_ref<void(FunctionOpInterface, PlacedProgram &)> visit);

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_GRAPH_PLACEDPROGRAM_H
