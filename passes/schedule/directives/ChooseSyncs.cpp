//===- ChooseSyncs.cpp - Which of a module's results a sync means ---------===//
//
// A reduction of a module with several results means those that are partial.
// Which are follows from the placements of all directives, so they are tried on
// the program without these syncs.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Schedule.h"
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
  PendingSums(PlacementAnalysis &analysis, ArrayAttr axes)
      : graph(analysis.getGraph()), layout(*analysis.getLayout()),
        placements(analysis.getPlacements()), axes(getAxisRefs(axes)) {}

  void visit(Operation *op);
  bool contains(Value value) const { return pending.contains(value); }

private:
  bool isCut(Value operand, ArrayRef<unsigned> factors, int64_t dim,
             unsigned factor, const ShardingRule &rule) const;
  bool isSummedInParts(Operation *op) const;

  const PlacementGraph &graph;
  const MeshLayout &layout;
  const Placements &placements;
  SmallVector<AxisRefAttr> axes;
  llvm::DenseSet<Value> pending;
};

/// Takes ops out of the program, users reading what the ops read; puts them
/// back in the end.
class Absence {
public:
  ~Absence();
  void take(Operation *op);

private:
  struct Absent {
    Operation *op, *next;
    Block *block;
    /// Of the op's only result, as they follow each other.
    SmallVector<OpOperand *> uses;
  };
  SmallVector<Absent> all;
};
} // namespace

void Absence::take(Operation *op) {
  Absent one{op, op->getNextNode(), op->getBlock(), {}};
  if (op->getNumResults() == 1) {
    for (OpOperand &use : op->getUses())
      one.uses.push_back(&use);
    op->getResult(0).replaceAllUsesWith(op->getOperand(0));
  }
  op->remove();
  all.push_back(std::move(one));
}

Absence::~Absence() {
  for (Absent &one : llvm::reverse(all)) {
    one.block->getOperations().insert(
        one.next ? Block::iterator(one.next) : one.block->end(), one.op);
    for (OpOperand *use : llvm::reverse(one.uses))
      use->set(one.op->getResult(0));
  }
}

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
  llvm::SmallPtrSet<Operation *, 16> pending;
  {
    Absence absence;
    for (const Alternatives &one : alternatives)
      for (SyncOp sync : one.syncs)
        absence.take(sync);
    for (ScheduleOp schedule :
         llvm::make_early_inc_range(module.getOps<ScheduleOp>()))
      absence.take(schedule);
    PlacementAnalysis analysis(module);
    if (failed(analysis.getStatus()))
      return failure();
    analysis.propagate();
    llvm::DenseMap<ArrayAttr, std::unique_ptr<PendingSums>> sums;
    for (const Alternatives &one : alternatives) {
      ArrayAttr axes = cast<SyncOp>(one.directive).getAxes();
      std::unique_ptr<PendingSums> &known = sums[axes];
      if (!known) {
        known = std::make_unique<PendingSums>(analysis, axes);
        module->walk<WalkOrder::PreOrder>(
            [&](Operation *op) { known->visit(op); });
      }
      for (SyncOp sync : one.syncs)
        if (known->contains(sync.getOperand()))
          pending.insert(sync);
    }
  }

  llvm::SmallPtrSet<Operation *, 4> checked;
  for (const Alternatives &one : alternatives) {
    auto directive = cast<SyncOp>(one.directive);
    SmallVector<AxisRefAttr> axes = getAxisRefs(directive.getAxes());
    auto isPending = [&](SyncOp sync) { return pending.contains(sync); };
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
