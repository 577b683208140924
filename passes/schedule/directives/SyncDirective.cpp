//===- SyncDirective.cpp - dist.sync directives become value-level ones ---===//
//
// Finds the values at the border of a module that a sync applies to.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/schedule/directives/Directives.h"
#include "passes/schedule/directives/ModuleBorder.h"
#include "passes/schedule/directives/ScheduleApplication.h"
#include "passes/schedule/directives/SyncFunction.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
/// The place for a sync of a module's output.
struct OutputPlace {
  /// The value to sync.
  Value value;
  /// Whether every use of it is to see the synced value, or only those outside
  /// of the module.
  bool everywhere = false;
  /// The dimension of `value` that the output's dimension is.
  std::optional<int64_t> dim;
  /// Where no single dimension is: the reshape that makes it one.
  tensor::ExpandShapeOp reshape;
};

/// Puts syncs at the borders of modules.
class Syncs {
public:
  /// Where the directive names no function, `function` is null.
  Syncs(SyncOp directive, SyncFunction *function,
        ScheduleApplication &application)
      : directive(directive), function(function), application(application),
        scopes(application.getScopes()), origins(application.getOrigins()) {}

  /// Sync the inputs or outputs of one module; return how many there are.
  FailureOr<unsigned> syncInputs(unsigned scope);
  FailureOr<unsigned> syncOutputs(unsigned scope);

private:
  OutputPlace findPendingSum(Value output, std::optional<int64_t> dim,
                             ModuleBorder &module);
  /// Makes the op, which has one result; `dim` replaces the directive's.
  FailureOr<Operation *> makeSync(Value value, Operation *scopeOf,
                                  std::optional<int64_t> dim);
  LogicalResult syncOutput(const OutputPlace &place, ModuleBorder &module);

  SyncOp directive;
  SyncFunction *function;
  ScheduleApplication &application;
  ScopeIndex &scopes;
  Origins &origins;
};
} // namespace

/// The dimension of operand `operand` that equals dimension `dim` of the op's
/// result, if there is exactly one.
static std::optional<int64_t> mapDim(Operation *op, OpOperand *operand,
                                     int64_t dim) {
  ShardingRule rule = getShardingRule(op);
  ArrayRef<unsigned> factors = rule.results[0].dims[dim];
  if (factors.empty())
    return std::nullopt;
  const TensorRule &source = rule.operands[operand->getOperandNumber()];
  for (auto [number, other] : llvm::enumerate(source.dims))
    if (ArrayRef<unsigned>(other) == factors)
      return number;
  return std::nullopt;
}

/// Goes back from an output of the module, through ops that commute with a
/// pending sum and through additions of parameters (biases), to the op that
/// leaves a sum pending. The sync belongs before the first of those additions.
OutputPlace Syncs::findPendingSum(Value output, std::optional<int64_t> dim,
                                  ModuleBorder &module) {
  struct Step {
    OpOperand *operand;
    bool addsParameter;
  };
  OutputPlace atOutput{output, false, dim, {}};
  SmallVector<Step> steps;
  Value value = output;
  while (true) {
    Operation *op = value.getDefiningOp();
    if (!op || !module.contains(op) || op->getNumResults() != 1 ||
        isa<SyncOp, ManualReshardOp>(op))
      return atOutput;
    if (isa<ShardingConstraintOp>(op)) {
      steps.push_back({&op->getOpOperand(0), false});
      value = op->getOperand(0);
      continue;
    }
    ShardingRule rule = getShardingRule(op);
    if (llvm::any_of(rule.factors, [](const Factor &factor) {
          return factor.kind == FactorKind::Reduction;
        }))
      break;
    SmallVector<OpOperand *, 4> data = getDataOperands(op);
    OpOperand *source = nullptr;
    bool isUnique = true;
    for (OpOperand *operand : data)
      if (origins.get(operand->get()).kind == Origin::Computed) {
        isUnique &= !source;
        source = operand;
      }
    if (!source || !isUnique)
      return atOutput;
    bool isLinear = commutesWithSum(op, source);
    if (!isLinear && !commutesWithSum(op, data))
      return atOutput;
    steps.push_back({source, !isLinear});
    value = source->get();
  }

  // The steps that stay after the sync: up to the addition nearest the sum.
  size_t after = 0;
  for (auto [number, step] : llvm::enumerate(steps))
    if (step.addsParameter)
      after = number + 1;
  OutputPlace place{output, true, dim, {}};
  for (auto [number, step] :
       llvm::enumerate(ArrayRef(steps).take_front(after))) {
    Operation *op = step.operand->getOwner();
    // A function is of one shape.
    if (place.dim || function) {
      bool keepsType =
          step.operand->get().getType() == op->getResult(0).getType();
      std::optional<int64_t> mapped = place.dim
                                          ? mapDim(op, step.operand, *place.dim)
                                      : keepsType ? std::optional<int64_t>(0)
                                                  : std::nullopt;
      auto expand = dyn_cast<tensor::ExpandShapeOp>(op);
      // The ops between the sum and the reshape keep the shape, so the sum can
      // be reshaped first.
      if (!mapped && expand) {
        OutputPlace pending = place;
        pending.value = steps[after - 1].operand->get();
        pending.reshape = expand;
        bool keepsShape = pending.value.getType() == expand.getSrcType();
        for (const Step &below :
             ArrayRef(steps).slice(number + 1, after - number - 1))
          keepsShape &= below.operand->get().getType() == expand.getSrcType() &&
                        below.operand->getOwner()->getResult(0).getType() ==
                            expand.getSrcType();
        return keepsShape ? pending : atOutput;
      }
      if (!mapped)
        return atOutput;
      if (place.dim)
        place.dim = mapped;
    }
    place.value = step.operand->get();
  }
  return place;
}

FailureOr<Operation *> Syncs::makeSync(Value value, Operation *scopeOf,
                                       std::optional<int64_t> dim) {
  auto type = cast<RankedTensorType>(value.getType());
  for (std::optional<int64_t> d :
       {dim, std::optional<int64_t>(directive.getToDim())})
    if (d && *d >= type.getRank()) {
      InFlightDiagnostic diagnostic = emitError(directive.getLoc())
                                      << "dimension " << *d
                                      << " is out of range for " << type
                                      << " of rank " << type.getRank();
      diagnostic.attachNote(value.getLoc()) << "this value";
      return diagnostic;
    }
  OpBuilder builder(application.getContext());
  builder.setInsertionPointAfterValue(value);
  Location loc = application.locate(directive, scopeOf);
  Operation *sync;
  if (function) {
    FailureOr<ManualReshardOp> manual = function->apply(builder, loc, value);
    if (failed(manual))
      return failure();
    sync = *manual;
  } else {
    sync = SyncOp::create(builder, loc, type, value, /*target=*/StringAttr(),
                          directive.getModeAttr(), directive.getKindAttr(),
                          dim ? builder.getI64IntegerAttr(*dim) : IntegerAttr(),
                          directive.getToDimAttr(), directive.getLowAttr(),
                          directive.getHighAttr(), directive.getBoundaryAttr(),
                          directive.getAxesAttr(), directive.getGroupsAttr(),
                          /*function=*/FlatSymbolRefAttr(),
                          /*backward=*/FlatSymbolRefAttr(),
                          application.getNeededMesh(),
                          /*optional=*/UnitAttr(), /*expect=*/IntegerAttr(),
                          application.getCause(directive));
  }
  if (Attribute scope = scopeOf->getAttr(kScopeAttr))
    sync->setAttr(kScopeAttr, scope);
  scopes.add(sync);
  return sync;
}

/// The op that comes first among those that read `value`.
static Operation *findFirstReader(Value value, ArrayRef<OpOperand *> reads) {
  Operation *first = nullptr, *firstAncestor = nullptr;
  for (OpOperand *read : reads) {
    Operation *ancestor =
        value.getParentBlock()->findAncestorOpInBlock(*read->getOwner());
    if (!first || ancestor->isBeforeInBlock(firstAncestor)) {
      first = read->getOwner();
      firstAncestor = ancestor;
    }
  }
  return first;
}

FailureOr<unsigned> Syncs::syncInputs(unsigned scope) {
  ModuleBorder module(application, scope);
  // The same communication of the same value is done once.
  auto orUnit = [&](Attribute attr) {
    return attr ? attr : UnitAttr::get(application.getContext());
  };
  Attribute use = ArrayAttr::get(
      application.getContext(),
      {directive.getModeAttr(), directive.getKindAttr(),
       directive.getAxesAttr(), orUnit(directive.getDimAttr()),
       orUnit(directive.getToDimAttr()), orUnit(directive.getLowAttr()),
       orUnit(directive.getHighAttr()), orUnit(directive.getBoundaryAttr()),
       orUnit(directive.getGroupsAttr()), orUnit(directive.getFunctionAttr()),
       orUnit(directive.getBackwardAttr())});
  ModuleBorder::Reads inputs = directive.getKind() == SyncKind::Halo
                                   ? module.findHaloInputs(*directive.getDim())
                                   : module.findInputs();
  for (auto &[value, reads] : inputs) {
    Operation *&made = application.getShared(value, use);
    if (!made) {
      FailureOr<Operation *> sync =
          makeSync(value, findFirstReader(value, reads), directive.getDim());
      if (failed(sync))
        return failure();
      made = *sync;
    }
    for (OpOperand *read : reads)
      if (read->getOwner() != made)
        read->set(made->getResult(0));
  }
  return inputs.size();
}

LogicalResult Syncs::syncOutput(const OutputPlace &place,
                                ModuleBorder &module) {
  Value value = place.value;
  Operation *maker = value.getDefiningOp();
  if (!place.reshape) {
    FailureOr<Operation *> sync = makeSync(value, maker, place.dim);
    if (failed(sync))
      return failure();
    value.replaceUsesWithIf((*sync)->getResult(0), [&](OpOperand &use) {
      return use.getOwner() != *sync &&
             (place.everywhere || !module.contains(use.getOwner()));
    });
    return success();
  }
  // Reshape the sum, sync, and reshape back.
  OpBuilder builder(maker);
  builder.setInsertionPointAfter(maker);
  Operation *expanded = builder.clone(*place.reshape);
  expanded->setOperand(0, value);
  FailureOr<Operation *> sync =
      makeSync(expanded->getResult(0), expanded, place.dim);
  if (failed(sync))
    return failure();
  builder.setInsertionPointAfter(*sync);
  auto collapsed = tensor::CollapseShapeOp::create(
      builder, expanded->getLoc(), value.getType(), (*sync)->getResult(0),
      tensor::ExpandShapeOp(place.reshape).getReassociation());
  collapsed->setAttr(kScopeAttr, (*sync)->getAttr(kScopeAttr));
  scopes.add(expanded);
  scopes.add(collapsed);
  value.replaceAllUsesExcept(collapsed, expanded);
  return success();
}

FailureOr<unsigned> Syncs::syncOutputs(unsigned scope) {
  ModuleBorder module(application, scope);
  bool reduces = function ? function->takesPending()
                          : directive.getKind() == SyncKind::AllReduce ||
                                directive.getKind() == SyncKind::ReduceScatter;
  // Where a sum is pending on some outputs, those are meant. Several outputs
  // may come of one sum.
  SmallVector<OutputPlace> found;
  llvm::SmallPtrSet<Value, 4> seen;
  for (Value output : module.findOutputs()) {
    std::optional<int64_t> dim = directive.getDim();
    int64_t rank = cast<RankedTensorType>(output.getType()).getRank();
    OutputPlace place{output, false, dim, {}};
    if (reduces && !(dim && *dim >= rank))
      place = findPendingSum(output, dim, module);
    if (seen.insert(place.value).second)
      found.push_back(place);
  }
  auto isPending = [](const OutputPlace &place) { return place.everywhere; };
  if (llvm::any_of(found, isPending))
    llvm::erase_if(found, std::not_fn(isPending));
  for (const OutputPlace &place : found)
    if (failed(syncOutput(place, module)))
      return failure();
  return found.size();
}

//===----------------------------------------------------------------------===//
// The directive
//===----------------------------------------------------------------------===//

namespace {
struct SyncDirective
    : ScheduleDirectiveOpInterface::ExternalModel<SyncDirective, SyncOp> {
  std::optional<int64_t> getExpected(Operation *op) const {
    return cast<SyncOp>(op).getExpect();
  }

  FailureOr<unsigned> apply(Operation *op, ScheduleApplication &application,
                            ArrayRef<unsigned> targets) const {
    auto directive = cast<SyncOp>(op);
    // The gradient that a module's backward ends with is its input's.
    bool isInput = directive.getMode() != SyncMode::FwdPost;
    std::optional<SyncFunction> function;
    if (directive.getFunction()) {
      FailureOr<SyncFunction> found =
          SyncFunction::find(directive, application);
      if (failed(found))
        return failure();
      function.emplace(*found);
    }
    Syncs syncs(directive, function ? &*function : nullptr, application);
    unsigned places = 0;
    for (unsigned scope : targets) {
      FailureOr<unsigned> more =
          isInput ? syncs.syncInputs(scope) : syncs.syncOutputs(scope);
      if (failed(more))
        return failure();
      if (*more == 0) {
        InFlightDiagnostic error = emitError(op->getLoc());
        error << "module \"" << application.getScopes().getPath(scope)
              << "\" has no " << (isInput ? "input" : "output")
              << " tensor to sync";
        if (isInput && directive.getKind() == SyncKind::Halo)
          error << ": none that it reads in windows along dimension "
                << *directive.getDim() << "; name the module that does";
        return error;
      }
      places += *more;
    }
    return places;
  }
};
} // namespace

void mlir::dist::attachSyncDirective(MLIRContext &context) {
  SyncOp::attachInterface<SyncDirective>(context);
}
