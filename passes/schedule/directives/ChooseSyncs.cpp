//===- ChooseSyncs.cpp - Which of a module's results a sync means ---------===//
//
// A reduction of a module with several results means those that are partial.
// Which are follows from the placements of all directives, so they are tried on
// a copy of the program without these syncs.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/Utils/Program.h"
#include "passes/schedule/directives/ModuleBorder.h"
#include "passes/schedule/directives/ScheduleApplication.h"
#include "passes/spmd/propagate/PlacementAnalysis.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
/// The values of a placed program in which a sum over some axes is pending.
class PendingSums {
public:
  PendingSums(PlacementAnalysis &analysis, ArrayRef<AxisRefAttr> axes)
      : graph(analysis.getGraph()), layout(*analysis.getLayout()),
        placements(analysis.getPlacements()), axes(axes) {}

  void visit(Operation *op);
  bool contains(Value value) const { return pending.contains(value); }

private:
  bool isCut(Value operand, ArrayRef<unsigned> factors, int64_t dim,
             unsigned factor, const ShardingRule &rule) const;
  bool isSummedInParts(Operation *op) const;

  const PlacementGraph &graph;
  const MeshLayout &layout;
  const Placements &placements;
  ArrayRef<AxisRefAttr> axes;
  llvm::DenseSet<Value> pending;
};
} // namespace

/// Whether the operand is cut over the axes along the part of a dimension that
/// is `factor`.
bool PendingSums::isCut(Value operand, ArrayRef<unsigned> factors, int64_t dim,
                        unsigned factor, const ShardingRule &rule) const {
  unsigned value = graph.getIndex(operand);
  if (value == PlacementGraph::kNone)
    return false;
  SmallVector<int64_t> sizes = llvm::map_to_vector(
      factors, [&](unsigned number) { return rule.factors[number].size; });
  SmallVector<DimShardingAttr> parts;
  if (!layout.split(placements.getDims(value)[dim].sharding, sizes, parts))
    return false;
  // What is only stored in parts is gathered before it is read.
  SmallVector<AxisRefAttr> cut =
      parts[llvm::find(factors, factor) - factors.begin()].getAllAxes();
  return anyOverlap(cut, axes) &&
         !anyOverlap(cut, placements.getStoredAxes(value));
}

bool PendingSums::isSummedInParts(Operation *op) const {
  ShardingRule rule = getShardingRule(op);
  for (auto [number, operand] : llvm::enumerate(rule.operands))
    for (auto [dim, factors] : llvm::enumerate(operand.dims))
      for (unsigned factor : factors)
        if (rule.getReduction(factor, 0) == ReductionKind::Sum &&
            isCut(op->getOperand(number), factors, dim, factor, rule))
          return true;
  return false;
}

void PendingSums::visit(Operation *op) {
  if (op->getNumResults() != 1)
    return;
  SmallVector<OpOperand *> flagged;
  for (OpOperand &operand : op->getOpOperands())
    if (contains(operand.get()))
      flagged.push_back(&operand);
  auto sync = dyn_cast<SyncOp>(op);
  bool isReduced = sync && (sync.getKind() == SyncKind::AllReduce ||
                            sync.getKind() == SyncKind::ReduceScatter);
  bool isKept = (isa<SyncOp, ShardingConstraintOp>(op) && !flagged.empty() &&
                 !isReduced) ||
                (!flagged.empty() && commutesWithSum(op, flagged));
  if (isKept || (isa<ShardingRuleOpInterface>(op) && isSummedInParts(op)))
    pending.insert(op->getResult(0));
}

LogicalResult ScheduleApplication::chooseSyncs(
    llvm::DenseMap<Operation *, unsigned> &places) {
  if (alternatives.empty())
    return success();
  auto module = mesh->getParentOfType<ModuleOp>();
  IRMapping mapping;
  OwningOpRef<ModuleOp> copy(cast<ModuleOp>(module->clone(mapping)));
  // Of each sync the value that it reads in the copy.
  llvm::DenseMap<Value, SmallVector<SyncOp, 1>> readers;
  for (const Alternatives &one : alternatives)
    for (SyncOp sync : one.syncs)
      readers[mapping.lookup(sync.getOperand())].push_back(sync);
  for (const Alternatives &one : alternatives)
    for (SyncOp sync : one.syncs) {
      Value made = mapping.lookup(sync.getResult());
      auto operand = made.getDefiningOp<SyncOp>().getOperand();
      if (auto moved = readers.find(made); moved != readers.end()) {
        SmallVector<SyncOp, 1> syncs = std::move(moved->second);
        readers.erase(moved);
        llvm::append_range(readers[operand], syncs);
      }
      made.replaceAllUsesWith(operand);
      made.getDefiningOp()->erase();
    }
  llvm::DenseMap<SyncOp, Value> values;
  for (auto &[value, syncs] : readers)
    for (SyncOp sync : syncs)
      values[sync] = value;
  for (ScheduleOp schedule :
       llvm::make_early_inc_range(copy->getOps<ScheduleOp>()))
    schedule.erase();
  PlacementAnalysis analysis(*copy);
  if (failed(analysis.getStatus()))
    return failure();
  analysis.propagate();

  llvm::DenseMap<ArrayAttr, std::unique_ptr<PendingSums>> sums;
  llvm::SmallPtrSet<Operation *, 4> checked;
  for (const Alternatives &one : alternatives) {
    auto directive = cast<SyncOp>(one.directive);
    SmallVector<AxisRefAttr> axes = getAxisRefs(directive.getAxes());
    std::unique_ptr<PendingSums> &pending = sums[directive.getAxes()];
    if (!pending) {
      pending = std::make_unique<PendingSums>(analysis, axes);
      copy->walk<WalkOrder::PreOrder>(
          [&](Operation *op) { pending->visit(op); });
    }
    auto isPending = [&](SyncOp sync) {
      return pending->contains(values.lookup(sync));
    };
    if (llvm::none_of(one.syncs, isPending) && layout.size(axes) > 1) {
      InFlightDiagnostic error =
          emitError(directive.getLoc())
          << "module \"" << scopes.getPath(one.scope) << "\" has "
          << one.syncs.size() << " results that a sum makes, but none is "
          << "partial over ";
      llvm::interleaveComma(axes, error);
      error << "; a 'row' or 'experts' directive leaves one so. A number says "
            << "which is meant, as in 'fwd_post " << one.numbers.front()
            << "', or name the module that makes it";
      for (auto [number, op] : llvm::zip_equal(one.numbers, one.syncs)) {
        SyncOp sync = op;
        Operation *maker = sync.getOperand().getDefiningOp();
        Diagnostic &note = error.attachNote(maker->getLoc())
                           << "output " << number << " is "
                           << sync.getResult().getType();
        if (auto scope = maker->getAttrOfType<StringAttr>(kScopeAttr))
          note << ", which " << scope << " makes";
      }
      return error;
    }
    for (SyncOp sync : one.syncs) {
      if (layout.size(axes) == 1 || isPending(sync))
        continue;
      sync.getResult().replaceAllUsesWith(sync.getOperand());
      sync.erase();
      --places[one.directive];
    }
    checked.insert(one.directive);
  }
  for (Operation *directive : checked)
    if (auto any = cast<ScheduleDirectiveOpInterface>(directive);
        failed(verifyExpected(any, places[directive])))
      return failure();
  return success();
}
