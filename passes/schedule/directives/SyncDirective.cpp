//===- SyncDirective.cpp - dist.sync directives become value-level ones ---===//
//
// Finds the values at the border of a module that a sync applies to.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Schedule.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/schedule/directives/Directives.h"
#include "passes/schedule/directives/Heads.h"
#include "passes/schedule/directives/ModuleBorder.h"
#include "passes/schedule/directives/ScheduleApplication.h"
#include "passes/schedule/directives/SyncFunction.h"
#include "passes/schedule/names/NamePattern.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

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
  /// Which of the outputs it is.
  unsigned number = 0;
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
  /// Features of a projection into or out of attention, and the blocks of them
  /// that stay whole: heads that the devices do not divide.
  struct HeadBlocks {
    int64_t features, units;
    /// The dimension of the features, from the last: 1.
    int64_t fromLast;
  };
  /// The first and the last op of a sync: itself, or reshapes around it.
  struct Made {
    Operation *first, *last;
  };

  std::optional<HeadBlocks> findHeadBlocks(unsigned scope);
  OutputPlace findPendingSum(Value output, std::optional<int64_t> dim,
                             ModuleBorder &module);
  /// Makes the op, which has one result; `dim` replaces the directive's.
  FailureOr<Made> makeSync(Value value, Operation *scopeOf,
                           std::optional<int64_t> dim);
  FailureOr<Operation *> syncOutput(const OutputPlace &place,
                                    ModuleBorder &module);
  LogicalResult checkNumber(unsigned scope, ArrayRef<Value> values);

  SyncOp directive;
  SyncFunction *function;
  ScheduleApplication &application;
  ScopeIndex &scopes;
  Origins &origins;
  std::optional<HeadBlocks> heads;
  /// By the paths of modules.
  llvm::StringMap<std::vector<HeadProjection>> projections;
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

/// Whether the op only rounds to a narrower type: a sum in f32, to bf16.
static bool isRounding(Operation *op, OpOperand *source) {
  auto iface = dyn_cast<ShardingRuleOpInterface>(op);
  auto from = dyn_cast<FloatType>(getElementTypeOrSelf(source->get()));
  auto to = dyn_cast<FloatType>(getElementTypeOrSelf(op->getResult(0)));
  if (!iface || !from || !to || to.getWidth() >= from.getWidth())
    return false;
  SmallVector<bool> flagged(op->getNumOperands(), false);
  flagged[source->getOperandNumber()] = true;
  return iface.getPartialResult(flagged, ReductionKind::Max) ==
         PartialResult::Partial;
}

/// Goes back from an output of the module, through ops that commute with a
/// pending sum, through additions of parameters (biases) and through roundings,
/// to the op that leaves a sum pending. The sync belongs before the first of
/// those additions and roundings.
OutputPlace Syncs::findPendingSum(Value output, std::optional<int64_t> dim,
                                  ModuleBorder &module) {
  struct Step {
    OpOperand *operand;
    bool endsSum;
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
    if (!isLinear && !commutesWithSum(op, data) && !isRounding(op, source))
      return atOutput;
    steps.push_back({source, !isLinear});
    value = source->get();
  }

  // The steps that stay after the sync: up to the one nearest the sum that ends
  // it.
  size_t after = 0;
  for (auto [number, step] : llvm::enumerate(steps))
    if (step.endsSum)
      after = number + 1;
  OutputPlace place{output, true, dim, {}};
  for (auto [number, step] :
       llvm::enumerate(ArrayRef(steps).take_front(after))) {
    Operation *op = step.operand->getOwner();
    // A function is of one shape.
    if (place.dim || function) {
      auto getShape = [](Value value) {
        return cast<ShapedType>(value.getType()).getShape();
      };
      bool isAlike =
          getShape(step.operand->get()) == getShape(op->getResult(0));
      std::optional<int64_t> mapped = place.dim
                                          ? mapDim(op, step.operand, *place.dim)
                                      : isAlike ? std::optional<int64_t>(0)
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

/// A dimension of `type`, counted from the end if it is negative.
static std::optional<int64_t> findDim(Type type, std::optional<int64_t> dim) {
  int64_t rank = cast<RankedTensorType>(type).getRank();
  if (!dim || *dim < -rank || *dim >= rank)
    return std::nullopt;
  return *dim < 0 ? *dim + rank : *dim;
}

/// The heads of an attention that the module projects into or out of, if the
/// sync moves whole values between devices that do not divide the heads.
std::optional<Syncs::HeadBlocks> Syncs::findHeadBlocks(unsigned scope) {
  SyncKind kind = directive.getKind();
  if ((kind != SyncKind::AllToAll && kind != SyncKind::Scatter &&
       kind != SyncKind::AllGather) ||
      directive.getGroups() != 1)
    return std::nullopt;
  ModuleBorder module(application, scope);
  // The attention is in this module, or in one around it.
  StringRef path = scopes.getPath(scope);
  for (bool isOwn = true;; isOwn = false) {
    auto [known, isNew] = projections.try_emplace(path);
    std::string error;
    if (isNew) {
      std::optional<NamePattern> pattern = NamePattern::parse(path, error);
      SmallVector<unsigned> found =
          pattern ? scopes.match(TargetKind::Module, *pattern)
                  : SmallVector<unsigned>();
      known->second = findHeadProjections(
          scopes.getOps(found.empty() ? 0 : found.front()), origins);
    }
    int64_t devices = application.getLayout().size(
        getAxisRefs(directive.getAxes()));
    HeadCounts counts(known->second);
    for (const HeadProjection &projection : known->second) {
      if (isOwn || !counts.toQueries ||
          (counts.isEven(devices) && counts.keys % devices == 0) ||
          !module.contains(projection.contraction.op) ||
          projection.blocks.size() > 1)
        continue;
      // Queries go where their keys are.
      int64_t units = counts.queries % counts.keys ? counts.queries
                                                   : counts.keys,
              features = 1, fromLast = 1;
      const auto &[op, rule, parameter, activation] = projection.contraction;
      const TensorRule &tensor =
          projection.isInput() ? rule.results.front()
                               : rule.operands[activation->getOperandNumber()];
      for (auto [number, factor] : llvm::enumerate(rule.factors))
        if (holdsFactor(rule.operands[parameter->getOperandNumber()], number) &&
            holdsFactor(rule.operands[activation->getOperandNumber()],
                        number) != projection.isInput()) {
          features *= factor.size;
          for (auto [dim, factors] : llvm::enumerate(tensor.dims))
            if (llvm::is_contained(factors, number))
              fromLast = tensor.dims.size() - dim;
        }
      if (projection.isInput() && projection.blocks.front().heads % units != 0)
        units = projection.blocks.front().heads;
      return HeadBlocks{features, units, fromLast};
    }
    if (counts.toQueries || path.empty())
      return std::nullopt;
    path = path.contains('.') ? path.rsplit('.').first : StringRef();
  }
}

FailureOr<Syncs::Made> Syncs::makeSync(Value value, Operation *scopeOf,
                                       std::optional<int64_t> dim) {
  auto type = cast<RankedTensorType>(value.getType());
  std::optional<int64_t> toDim = findDim(type, directive.getToDim());
  using Dim = std::optional<int64_t>;
  for (auto [asked, found] : {std::pair(Dim(directive.getDim()), dim),
                              std::pair(Dim(directive.getToDim()), toDim)})
    if (asked && !found) {
      InFlightDiagnostic diagnostic = emitError(directive.getLoc())
                                      << "dimension " << *asked
                                      << " is out of range for " << type
                                      << " of rank " << type.getRank();
      diagnostic.attachNote(value.getLoc()) << "this value";
      return diagnostic;
    }
  OpBuilder builder(application.getContext());
  builder.setInsertionPointAfterValue(value);
  Location loc = application.locate(directive, scopeOf);
  // Where devices do not divide the heads, they are a dimension of their own.
  tensor::ExpandShapeOp expand;
  SmallVector<ReassociationIndices> reshape;
  RankedTensorType whole = type;
  auto isFeatures = [&](int64_t i) {
    return i >= 0 && type.getDimSize(i) == heads->features;
  };
  for (int64_t i = 0; heads && type.hasStaticShape() && i < type.getRank();
       ++i) {
    // The sequence may be as long; a reshape may have moved the features.
    int64_t expected = type.getRank() - heads->fromLast;
    if ((i != dim && i != toDim) || !isFeatures(i) ||
        (i != expected && isFeatures(expected)) ||
        heads->features % heads->units != 0 || heads->units == 1)
      continue;
    SmallVector<int64_t> shape(type.getShape());
    shape[i] = heads->units;
    shape.insert(shape.begin() + i + 1, heads->features / heads->units);
    for (int64_t j = 0; j < type.getRank(); ++j)
      reshape.push_back(j < i    ? ReassociationIndices{j}
                        : j == i ? ReassociationIndices{j, j + 1}
                                 : ReassociationIndices{j + 1});
    for (std::optional<int64_t> *other : {&dim, &toDim})
      if (*other && **other > i)
        ++**other;
    type = type.clone(shape);
    expand = tensor::ExpandShapeOp::create(builder, loc, type, value, reshape);
    value = expand;
    break;
  }
  Operation *sync;
  if (function) {
    FailureOr<ManualReshardOp> manual = function->apply(builder, loc, value);
    if (failed(manual))
      return failure();
    sync = *manual;
  } else {
    sync = SyncOp::create(
        builder, loc, type, value, /*target=*/StringAttr(),
        directive.getModeAttr(), /*number=*/IntegerAttr(),
        directive.getKindAttr(),
        dim ? builder.getI64IntegerAttr(*dim) : IntegerAttr(),
        toDim ? builder.getI64IntegerAttr(*toDim) : IntegerAttr(),
        directive.getLowAttr(), directive.getHighAttr(),
        directive.getBoundaryAttr(), directive.getAxesAttr(),
        directive.getGroupsAttr(),
        /*function=*/FlatSymbolRefAttr(),
        /*backward=*/FlatSymbolRefAttr(), application.getNeededMesh(),
        /*except=*/StringAttr(), /*optional=*/UnitAttr(),
        /*expect=*/IntegerAttr(), application.getCause(directive));
  }
  Made made{expand ? expand : sync, sync};
  if (expand)
    made.last = tensor::CollapseShapeOp::create(builder, loc, whole,
                                                sync->getResult(0), reshape);
  llvm::SmallSetVector<Operation *, 3> ops;
  ops.insert(made.first);
  ops.insert(sync);
  ops.insert(made.last);
  for (Operation *op : ops) {
    if (Attribute scope = scopeOf->getAttr(kScopeAttr))
      op->setAttr(kScopeAttr, scope);
    scopes.add(op);
  }
  return made;
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
  heads = findHeadBlocks(scope);
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
  if (failed(
          checkNumber(scope, llvm::to_vector(llvm::make_first_range(inputs)))))
    return failure();
  if (std::optional<int64_t> number = directive.getNumber()) {
    std::pair<Value, SmallVector<OpOperand *, 2>> one = inputs.begin()[*number];
    inputs.clear();
    inputs.insert(std::move(one));
  }
  for (auto &[value, reads] : inputs) {
    Operation *&made = application.getShared(value, use);
    if (!made) {
      FailureOr<Made> sync =
          makeSync(value, findFirstReader(value, reads),
                   findDim(value.getType(), directive.getDim()));
      if (failed(sync))
        return failure();
      made = sync->last;
    }
    for (OpOperand *read : reads)
      if (read->getOwner() != made)
        read->set(made->getResult(0));
  }
  return inputs.size();
}

/// Whether there is an input or output of the directive's number, if it has
/// one.
LogicalResult Syncs::checkNumber(unsigned scope, ArrayRef<Value> values) {
  if (!directive.getNumber() || *directive.getNumber() < values.size())
    return success();
  StringRef what =
      directive.getMode() == SyncMode::FwdPost ? "output" : "input";
  InFlightDiagnostic diagnostic =
      emitError(directive.getLoc())
      << "module \"" << scopes.getPath(scope) << "\" has " << values.size()
      << " " << what << (values.size() == 1 ? "" : "s") << ", and no " << what
      << " " << *directive.getNumber();
  for (auto [number, value] : llvm::enumerate(values))
    diagnostic.attachNote(value.getLoc())
        << what << " " << number << " is " << value.getType();
  return diagnostic;
}

FailureOr<Operation *> Syncs::syncOutput(const OutputPlace &place,
                                         ModuleBorder &module) {
  Value value = place.value;
  Operation *maker = value.getDefiningOp();
  if (!place.reshape) {
    FailureOr<Made> sync = makeSync(value, maker, place.dim);
    if (failed(sync))
      return failure();
    value.replaceUsesWithIf(sync->last->getResult(0), [&](OpOperand &use) {
      return use.getOwner() != sync->first &&
             (place.everywhere || !module.contains(use.getOwner()));
    });
    return sync->last;
  }
  // Reshape the sum, sync, and reshape back.
  OpBuilder builder(maker);
  builder.setInsertionPointAfter(maker);
  Operation *expanded = builder.clone(*place.reshape);
  expanded->setOperand(0, value);
  FailureOr<Made> sync =
      makeSync(expanded->getResult(0), expanded, place.dim);
  if (failed(sync))
    return failure();
  builder.setInsertionPointAfter(sync->last);
  auto collapsed = tensor::CollapseShapeOp::create(
      builder, expanded->getLoc(), value.getType(), sync->last->getResult(0),
      tensor::ExpandShapeOp(place.reshape).getReassociation());
  collapsed->setAttr(kScopeAttr, sync->last->getAttr(kScopeAttr));
  scopes.add(expanded);
  scopes.add(collapsed);
  value.replaceAllUsesExcept(collapsed, expanded);
  return sync->last;
}

FailureOr<unsigned> Syncs::syncOutputs(unsigned scope) {
  heads = findHeadBlocks(scope);
  ModuleBorder module(application, scope);
  bool reduces = function ? function->takesPending()
                          : directive.getKind() == SyncKind::AllReduce ||
                                directive.getKind() == SyncKind::ReduceScatter;
  SmallVector<Value> outputs = module.findOutputs();
  if (failed(checkNumber(scope, outputs)))
    return failure();
  // Some may lack the dimension: those that have it are meant.
  auto lacksDim = [&](Value output) {
    return directive.getDim() && !findDim(output.getType(), directive.getDim());
  };
  bool isDimLacking = llvm::all_of(outputs, lacksDim);
  auto isMeant = [&](Value output) {
    return directive.getNumber() ? output == outputs[*directive.getNumber()]
                                 : isDimLacking || !lacksDim(output);
  };
  // Where an op that may leave a sum pending makes some outputs, those are
  // meant. Several outputs may come of one sum.
  SmallVector<OutputPlace> found;
  llvm::SmallPtrSet<Value, 4> seen;
  for (auto [number, output] : llvm::enumerate(outputs)) {
    if (!isMeant(output))
      continue;
    std::optional<int64_t> dim = findDim(output.getType(), directive.getDim());
    OutputPlace place{output, false, dim, {}};
    if (reduces && !lacksDim(output))
      place = findPendingSum(output, dim, module);
    place.number = number;
    if (seen.insert(place.value).second)
      found.push_back(place);
  }
  auto isPending = [](const OutputPlace &place) { return place.everywhere; };
  if (llvm::any_of(found, isPending))
    llvm::erase_if(found, std::not_fn(isPending));
  SmallVector<SyncOp> syncs;
  SmallVector<unsigned> numbers;
  for (const OutputPlace &place : found) {
    FailureOr<Operation *> sync = syncOutput(place, module);
    if (failed(sync))
      return failure();
    if (auto reduction = dyn_cast<SyncOp>(*sync)) {
      syncs.push_back(reduction);
      numbers.push_back(place.number);
    }
  }
  if (reduces && syncs.size() > 1)
    application.addAlternatives(directive, scope, std::move(syncs),
                                std::move(numbers));
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
