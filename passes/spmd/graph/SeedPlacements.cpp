//===- SeedPlacements.cpp - What the annotations ask for ------------------===//

#include "passes/spmd/graph/SeedPlacements.h"
#include "dialects/dist/IR/Gradients.h"
#include "dialects/dist/IR/Schedule.h"
#include "dialects/dist/Utils/Program.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/spmd/graph/PlacementText.h"

using namespace mlir;
using namespace mlir::dist;

static LogicalResult refusePending(ShardingAttr sharding, Operation *at) {
  if (!sharding || !sharding.isPartial())
    return success();
  return at->emitOpError() << "is placed as " << sharding
                           << ", but pending reductions arise from ops; what "
                           << "goes into a function or comes out of it is "
                           << "complete";
}

namespace {
class Seeder {
public:
  Seeder(const PlacementGraph &graph, const MeshLayout &layout,
         Placements &placements)
      : graph(graph), layout(layout), placements(placements) {}

  LogicalResult seedFunction(FunctionOpInterface function);
  LogicalResult seedConstraint(ShardingConstraintOp constraint);
  LogicalResult seedManual(ManualReshardOp manual);
  void seedEarlierRun(Operation *op, ArrayAttr shardings);

private:
  LogicalResult seedValue(unsigned value, ShardingAttr sharding, unsigned cause,
                          Operation *at);

  const PlacementGraph &graph;
  const MeshLayout &layout;
  Placements &placements;
};
} // namespace

LogicalResult Seeder::seedValue(unsigned value, ShardingAttr sharding,
                                unsigned cause, Operation *at) {
  RankedTensorType type = graph.getType(value);
  for (auto [index, state] : llvm::enumerate(placements.getDims(value))) {
    DimShardingAttr dim = sharding.getDims()[index];
    DimShardingAttr wanted = layout.canonical(dim, type.getDimSize(index));
    if (state.sharding != layout.none() && wanted != state.sharding &&
        !layout.isPrefix(wanted, state.sharding))
      return at->emitOpError()
             << "asks for " << printDim(wanted) << " on dimension " << index
             << " of a value that "
             << (state.cause == Placements::kNone
                     ? "an earlier run"
                     : StringRef(placements.getCauses()[state.cause]))
             << " places as " << printDim(state.sharding);
    if (wanted != layout.none()) {
      state.sharding = wanted;
      state.cause = cause;
    }
    state.isClosed |= !dim.getIsOpen();
  }
  return success();
}

/// Who places an argument, for explanations.
static std::string getCause(FunctionOpInterface function,
                            BlockArgument argument) {
  unsigned number = argument.getArgNumber();
  if (auto cause = function.getArgAttrOfType<StringAttr>(number, kCauseAttr))
    return cause.str();
  std::string name = "argument " + std::to_string(number);
  for (StringRef attr : {kParameterAttr, kInputAttr})
    if (auto given = function.getArgAttrOfType<StringAttr>(number, attr))
      name = (attr == kParameterAttr ? "parameter '" : "input '") +
             given.str() + "'";
  std::string at = describeFileLine(argument.getLoc());
  return "the sharding of " + name + (at.empty() ? "" : " (" + at + ")");
}

LogicalResult Seeder::seedFunction(FunctionOpInterface function) {
  for (BlockArgument argument : function.getArguments()) {
    auto sharding = function.getArgAttrOfType<ShardingAttr>(
        argument.getArgNumber(), kShardingAttr);
    unsigned value = graph.getIndex(argument);
    if (!sharding || value == PlacementGraph::kNone)
      continue;
    unsigned cause = placements.addCause(getCause(function, argument));
    if (failed(refusePending(sharding, function)) ||
        failed(seedValue(value, sharding, cause, function)))
      return failure();
  }
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (failed(refusePending(
            function.getResultAttrOfType<ShardingAttr>(i, kShardingAttr),
            function)))
      return failure();
  return success();
}

LogicalResult Seeder::seedConstraint(ShardingConstraintOp constraint) {
  unsigned cause = placements.addCause(
      constraint.getCause()
          ? constraint.getCause()->str()
          : "the constraint at " + describeFileLine(constraint.getLoc()));
  unsigned value = graph.getIndex(constraint.getResult());
  if (failed(seedValue(value, constraint.getSharding(), cause, constraint)))
    return failure();
  placements.pin(value);
  unsigned operand = graph.getIndex(constraint.getOperand());
  if (operand != PlacementGraph::kNone)
    placements.pin(operand);
  if (auto axes = constraint.getWhole()) {
    placements.keepWhole(value, getAxisRefs(*axes));
    // Values that are computed only for it get its placement.
    if (operand != PlacementGraph::kNone && constraint.getOperand().hasOneUse())
      placements.keepWhole(operand, getAxisRefs(*axes));
  }
  return success();
}

/// It takes its operand, and makes its result, as it says and not otherwise.
LogicalResult Seeder::seedManual(ManualReshardOp manual) {
  unsigned cause = placements.addCause(
      manual.getCause()
          ? manual.getCause()->str()
          : "dist.manual_reshard at " + describeFileLine(manual.getLoc()));
  for (auto [tensor, sharding] :
       {std::pair<Value, ShardingAttr>(manual.getOperand(), manual.getSource()),
        {manual.getResult(), manual.getSharding()}}) {
    unsigned value = graph.getIndex(tensor);
    if (value == PlacementGraph::kNone)
      continue;
    if (failed(seedValue(value, sharding.withoutPartial(), cause, manual)))
      return failure();
    placements.pin(value);
  }
  return success();
}

/// The results of an earlier --dist-propagate.
void Seeder::seedEarlierRun(Operation *op, ArrayAttr shardings) {
  for (auto [result, attr] : llvm::zip_equal(op->getResults(), shardings)) {
    auto sharding = dyn_cast<ShardingAttr>(attr);
    unsigned value = graph.getIndex(result);
    if (!sharding || value == PlacementGraph::kNone)
      continue;
    for (auto [state, dim, size] :
         llvm::zip_equal(placements.getDims(value), sharding.getDims(),
                         graph.getType(value).getShape()))
      state.sharding = layout.canonical(dim, size);
  }
}

LogicalResult mlir::dist::seedPlacements(Operation *module,
                                         const PlacementGraph &graph,
                                         const MeshLayout &layout,
                                         Placements &placements) {
  Seeder seeder(graph, layout, placements);
  WalkResult result = module->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto function = dyn_cast<FunctionOpInterface>(op)) {
      if (function.isExternal())
        return WalkResult::skip();
      return WalkResult(seeder.seedFunction(function));
    }
    if (auto shardings = op->getAttrOfType<ArrayAttr>(kShardingsAttr))
      seeder.seedEarlierRun(op, shardings);
    if (auto constraint = dyn_cast<ShardingConstraintOp>(op))
      if (failed(seeder.seedConstraint(constraint)))
        return WalkResult::interrupt();
    auto manual = dyn_cast<ManualReshardOp>(op);
    if (manual && failed(seeder.seedManual(manual)))
      return WalkResult::interrupt();
    return manual || isa<linalg::LinalgOp>(op) ? WalkResult::skip()
                                               : WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  // A placement that the user fixed is also fixed for values that follow it.
  for (const PlacementGraph::Node &node : graph.getNodes()) {
    if (!isa<FollowOp>(node.op))
      continue;
    ArrayRef<unsigned> links = graph.getLinks(node);
    if (links[0] == PlacementGraph::kNone || !placements.isPinned(links[0]))
      continue;
    for (unsigned value : links.drop_front())
      if (value != PlacementGraph::kNone)
        placements.pin(value);
  }
  return success();
}

void mlir::dist::seedSyncs(const PlacementGraph &graph,
                           const MeshLayout &layout, Placements &placements) {
  for (const PlacementGraph::Node &node : graph.getNodes()) {
    auto sync = dyn_cast<SyncOp>(node.op);
    unsigned to = sync ? graph.getLinks(node)[1] : PlacementGraph::kNone;
    if (to == PlacementGraph::kNone)
      continue;
    unsigned cause = placements.addCause(
        sync.getCause()
            ? sync.getCause()->str()
            : "dist.sync " + stringifySyncMode(sync.getMode()).str() + " " +
                  stringifySyncKind(sync.getKind()).str());
    std::optional<int64_t> dim =
        sync.getKind() == SyncKind::AllToAll ? sync.getToDim() : sync.getDim();
    if (!dim || sync.getKind() == SyncKind::AllGather ||
        sync.getKind() == SyncKind::Halo || sync.getMode() == SyncMode::BwdPost)
      continue;
    DimShardingAttr sharding =
        layout.append(layout.none(), graph.getType(to).getDimSize(*dim),
                      getAxisRefs(sync.getAxes()), sync.getGroups());
    Placements::DimState &state = placements.getDims(to)[*dim];
    if (sharding && state.sharding == layout.none() &&
        placements.fits(to, *dim, sharding)) {
      state.sharding = sharding;
      state.cause = cause;
    }
  }
}
