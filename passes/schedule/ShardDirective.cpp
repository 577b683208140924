//===- ShardDirective.cpp - dist.shard becomes shardings and constraints --===//
//
// `column` and `row` through the factors of contractions, the others by name.
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/Directives.h"
#include "passes/schedule/ModuleBorder.h"
#include "passes/schedule/ScheduleApplication.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace mlir::dist;

//===----------------------------------------------------------------------===//
// column and row
//===----------------------------------------------------------------------===//

static SmallVector<int64_t> getSizes(const ShardingRule &rule,
                                     ArrayRef<unsigned> factors) {
  return llvm::map_to_vector(
      factors, [&](unsigned factor) { return rule.factors[factor].size; });
}

/// Placement of a tensor in which `factor` is sharded like `sharding` and all
/// else is open; null where the factors of a dimension are not divided evenly.
static ShardingAttr placeFactor(const MeshLayout &layout,
                                const ShardingRule &rule,
                                const TensorRule &tensor, unsigned factor,
                                DimShardingAttr sharding) {
  MLIRContext *context = layout.getContext();
  auto open = DimShardingAttr::get(context, ArrayRef<AxisRefAttr>(), true);
  SmallVector<DimShardingAttr> dims;
  for (ArrayRef<unsigned> factors : tensor.dims) {
    if (!llvm::is_contained(factors, factor)) {
      dims.push_back(open);
      continue;
    }
    SmallVector<DimShardingAttr> parts(factors.size(), layout.none());
    parts[llvm::find(factors, factor) - factors.begin()] = sharding;
    dims.push_back(layout.join(parts, getSizes(rule, factors)));
    if (!dims.back())
      return {};
  }
  return ShardingAttr::get(context, layout.getName(), dims, ReductionKind::Sum,
                           {});
}

namespace {
/// Shards the features of the contractions in modules.
class FeatureSharding {
public:
  FeatureSharding(ShardOp directive, ScheduleApplication &application)
      : directive(directive), application(application),
        layout(application.getLayout()) {}

  /// Returns the number of contractions.
  FailureOr<unsigned> run(ArrayRef<unsigned> scopes);

private:
  LogicalResult shardContraction(const FeatureContraction &contraction);
  FailureOr<DimShardingAttr> shardFactor(const FeatureContraction &contraction,
                                         ArrayRef<unsigned> features,
                                         unsigned &factor);
  LogicalResult placeParameter(const FeatureContraction &contraction,
                               unsigned factor, DimShardingAttr sharding);
  InFlightDiagnostic suggestPlacement(unsigned scope,
                                      const NamedTensor &parameter);

  ShardOp directive;
  ScheduleApplication &application;
  const MeshLayout &layout;
};
} // namespace

/// Chooses, of the factors that the features are a product of, the one to
/// shard, and how: the major one, once the groups are taken off.
FailureOr<DimShardingAttr>
FeatureSharding::shardFactor(const FeatureContraction &contraction,
                             ArrayRef<unsigned> features, unsigned &factor) {
  SmallVector<int64_t> sizes = getSizes(contraction.rule, features);
  int64_t all = 1;
  for (int64_t size : sizes)
    all *= size;
  int64_t groups = directive.getGroups();
  SmallVector<AxisRefAttr> axes = getAxisRefs(*directive.getAxes());
  auto fail = [&]() -> InFlightDiagnostic {
    InFlightDiagnostic diagnostic = emitError(directive.getLoc());
    diagnostic.attachNote(contraction.op->getLoc()) << "at this contraction";
    return diagnostic;
  };
  if (all % groups != 0)
    return fail() << "groups " << groups << " do not divide the " << all << " "
                  << (directive.getKind() == ShardTarget::Column ? "output"
                                                                 : "input")
                  << " features";
  int64_t groupsLeft = groups;
  for (auto [number, size] : llvm::zip_equal(features, sizes)) {
    bool isLast = number == features.back();
    if (groupsLeft % size == 0 && !isLast) { // the factor counts groups only
      groupsLeft /= size;
      continue;
    }
    if (size % groupsLeft != 0)
      return fail() << "groups " << groups
                    << " do not divide the features, which "
                    << "are in factors of " << sizes;
    factor = number;
    if (groupsLeft == 1)
      return DimShardingAttr::get(layout.getContext(), axes);
    if (size / groupsLeft % layout.size(axes) != 0)
      return fail() << "a group of " << size / groupsLeft
                    << " features cannot be split among " << layout.size(axes)
                    << " devices evenly, as interleaved dimensions must be; "
                    << "the size of the axis has to divide it";
    MLIRContext *context = layout.getContext();
    SmallVector<SubDimAttr> subDims{SubDimAttr::get(context, groupsLeft, {}),
                                    SubDimAttr::get(context, 0, axes)};
    return DimShardingAttr::get(context, subDims, false);
  }
  return fail() << "no features are left to shard after groups " << groups;
}

LogicalResult
FeatureSharding::placeParameter(const FeatureContraction &contraction,
                                unsigned factor, DimShardingAttr sharding) {
  Value read = contraction.parameter->get();
  NamedTensor parameter = *application.getOrigins().findParameter(read);
  ShardingAttr placed = placeFactor(
      layout, contraction.rule,
      contraction.rule.operands[contraction.parameter->getOperandNumber()],
      factor, sharding);

  // Back through the ops between the parameter and the contraction.
  Operation *at = contraction.op;
  for (OpOperand *step : Origins::getChain(read)) {
    if (!placed)
      break;
    at = step->getOwner();
    ShardingRule rule = getShardingRule(at);
    SmallVector<DimShardingAttr> factors(rule.factors.size(), layout.none());
    bool fits = true;
    for (auto [dim, dimFactors] :
         llvm::zip_equal(placed.getDims(), rule.results[0].dims)) {
      if (dim.isReplicated())
        continue;
      SmallVector<DimShardingAttr> parts;
      fits &= !dimFactors.empty() &&
              layout.split(dim, getSizes(rule, dimFactors), parts);
      if (!fits)
        break;
      for (auto [number, part] : llvm::zip_equal(dimFactors, parts)) {
        factors[number] = part;
        fits &= part == layout.none() ||
                rule.factors[number].kind == FactorKind::Parallel;
      }
    }
    const TensorRule &source = rule.operands[step->getOperandNumber()];
    MLIRContext *context = layout.getContext();
    auto open = DimShardingAttr::get(context, ArrayRef<AxisRefAttr>(), true);
    SmallVector<DimShardingAttr> dims;
    for (ArrayRef<unsigned> dimFactors : source.dims) {
      SmallVector<DimShardingAttr> parts;
      for (unsigned number : dimFactors)
        parts.push_back(factors[number]);
      DimShardingAttr joined =
          parts.empty() ? layout.none()
                        : layout.join(parts, getSizes(rule, dimFactors));
      fits &= static_cast<bool>(joined);
      dims.push_back(!joined || joined.isReplicated() ? open : joined);
    }
    for (unsigned number = 0; number < factors.size(); ++number)
      fits &= factors[number] == layout.none() || holdsFactor(source, number);
    placed = fits ? ShardingAttr::get(context, layout.getName(), dims,
                                      ReductionKind::Sum, {})
                  : ShardingAttr();
  }
  if (!placed) {
    InFlightDiagnostic diagnostic =
        emitError(directive.getLoc())
        << "parameter \"" << parameter.name
        << "\" cannot be sharded as its contraction needs: "
        << "its dimensions are not divided evenly";
    diagnostic.attachNote(at->getLoc()) << "through this op";
    return diagnostic;
  }
  return application.place(directive, parameter, placed);
}

LogicalResult
FeatureSharding::shardContraction(const FeatureContraction &contraction) {
  const ShardingRule &rule = contraction.rule;
  bool isColumn = directive.getKind() == ShardTarget::Column;
  const TensorRule &parameter =
      rule.operands[contraction.parameter->getOperandNumber()];
  const TensorRule &activation =
      rule.operands[contraction.activation->getOperandNumber()];

  // Features in the order of the parameter's dimensions.
  SmallVector<unsigned> features;
  for (ArrayRef<unsigned> factors : parameter.dims)
    for (unsigned factor : factors) {
      FactorKind kind = rule.factors[factor].kind;
      bool isFeature = isColumn ? kind == FactorKind::Parallel &&
                                      !holdsFactor(activation, factor) &&
                                      holdsFactor(rule.results[0], factor)
                                : kind == FactorKind::Reduction &&
                                      holdsFactor(activation, factor);
      if (isFeature)
        features.push_back(factor);
    }
  if (features.empty()) {
    InFlightDiagnostic diagnostic = emitError(directive.getLoc())
                                    << "the contraction has no "
                                    << (isColumn ? "output" : "input")
                                    << " features to shard";
    diagnostic.attachNote(contraction.op->getLoc()) << "at this contraction";
    return diagnostic;
  }
  unsigned factor = 0;
  FailureOr<DimShardingAttr> sharding =
      shardFactor(contraction, features, factor);
  if (failed(sharding) ||
      failed(placeParameter(contraction, factor, *sharding)))
    return failure();
  ShardingAttr placed = placeFactor(
      layout, rule, isColumn ? rule.results[0] : activation, factor, *sharding);
  if (!placed) {
    InFlightDiagnostic diagnostic =
        emitError(directive.getLoc())
        << "the " << rule.factors[factor].size
        << " features are one of several factors of a dimension and not "
           "divided "
        << "by " << layout.size(sharding->getAllAxes()) << " devices";
    diagnostic.attachNote(contraction.op->getLoc()) << "at this contraction";
    return diagnostic;
  }
  return application.constrain(directive, contraction.op,
                               isColumn ? nullptr : contraction.activation,
                               placed);
}

/// An error that says what to write for the parameter of a module without a
/// contraction.
InFlightDiagnostic
FeatureSharding::suggestPlacement(unsigned scope,
                                  const NamedTensor &parameter) {
  InFlightDiagnostic diagnostic = emitError(directive.getLoc());
  diagnostic << "module \"" << application.getScopes().getPath(scope)
             << "\" has no contraction with a parameter, so '"
             << stringifyShardTarget(directive.getKind())
             << "' does not apply; to place its parameter write dist.shard "
             << "parameter \"" << parameter.name << "\" [";
  auto type = dyn_cast<RankedTensorType>(parameter.getType());
  for (int64_t dim = 0, rank = type ? type.getRank() : 0; dim < rank; ++dim) {
    diagnostic << (dim ? ", {" : "{");
    if (dim == 0)
      llvm::interleaveComma(getAxisRefs(*directive.getAxes()), diagnostic);
    diagnostic << "}";
  }
  diagnostic << "]";
  return diagnostic;
}

FailureOr<unsigned> FeatureSharding::run(ArrayRef<unsigned> scopes) {
  Origins &origins = application.getOrigins();
  llvm::SmallPtrSet<Operation *, 16> done;
  for (unsigned scope : scopes) {
    bool found = false;
    std::optional<NamedTensor> parameter;
    Operation *reader = nullptr;
    for (Operation *op : application.getScopes().getOps(scope)) {
      if (done.contains(op)) {
        found = true;
        continue;
      }
      std::optional<FeatureContraction> contraction =
          origins.findFeatureContraction(op);
      if (!contraction) {
        if (!parameter && (parameter = origins.findParameter(op)))
          reader = op;
        continue;
      }
      found = true;
      done.insert(op);
      if (failed(shardContraction(*contraction)))
        return failure();
    }
    // Modules without parameters, such as activations, may match a glob that is
    // meant for their neighbours; one with parameters is meant.
    if (found || !parameter)
      continue;
    InFlightDiagnostic diagnostic = suggestPlacement(scope, *parameter);
    diagnostic.attachNote(reader->getLoc()) << "the parameter is read here";
    return diagnostic;
  }
  if (done.empty() && !scopes.empty())
    return emitError(directive.getLoc())
           << "\"" << directive.getTarget() << "\" matches " << scopes.size()
           << (scopes.size() == 1 ? " module" : " modules") << ", the first \""
           << application.getScopes().getPath(scopes.front())
           << "\", but no contraction with a parameter";
  return done.size();
}

//===----------------------------------------------------------------------===//
// Lists of dimensions
//===----------------------------------------------------------------------===//

/// What the directive asks of a tensor of this type; `what` describes it.
static FailureOr<ShardingAttr> getAsked(ShardOp directive,
                                        const MeshLayout &layout, Type type,
                                        const Twine &what) {
  SmallVector<DimShardingAttr> dims;
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return emitError(directive.getLoc())
           << what << " is no ranked tensor, but " << type;
  std::optional<ArrayRef<int64_t>> numbers = directive.getDimNumbers();
  if (directive.getReplicate() || numbers)
    dims.assign(tensor.getRank(), layout.none());
  if (directive.getDims())
    for (auto [index, attr] : llvm::enumerate(*directive.getDims())) {
      auto dim = cast<DimShardingAttr>(attr);
      if (!numbers) {
        dims.push_back(dim);
        continue;
      }
      int64_t number = (*numbers)[index];
      int64_t found = number < 0 ? number + tensor.getRank() : number;
      if (found < 0 || found >= tensor.getRank())
        return emitError(directive.getLoc())
               << what << " has no dimension " << number << ": it is " << type;
      if (dims[found] != layout.none())
        return emitError(directive.getLoc())
               << "names dimension " << found << " of " << what << " twice";
      dims[found] = dim;
    }
  return ShardingAttr::get(directive.getContext(), layout.getName(), dims,
                           ReductionKind::Sum, {});
}

/// Places input or output `k` of a module; where the directive gives no number,
/// the only one.
static LogicalResult placeActivation(ShardOp directive,
                                     ScheduleApplication &application,
                                     unsigned scope) {
  ModuleBorder module(application, scope);
  bool isInput = directive.getKind() == ShardTarget::ModuleInput;
  ModuleBorder::Reads all;
  if (isInput)
    all = module.findInputs();
  else
    for (Value output : module.findOutputs())
      all[output] = module.findOutsideUses(output);
  StringRef what = isInput ? "input" : "output";
  size_t number = directive.getNumber().value_or(0);
  if (number >= all.size() || (!directive.getNumber() && all.size() > 1)) {
    InFlightDiagnostic diagnostic =
        emitError(directive.getLoc())
        << "module \"" << application.getScopes().getPath(scope) << "\" has "
        << all.size() << " " << what << (all.size() == 1 ? "" : "s");
    if (number >= all.size())
      diagnostic << ", and no " << what << " " << number;
    else
      diagnostic << "; say which, as in '" << what << " 0'";
    for (auto [index, entry] : llvm::enumerate(all))
      diagnostic.attachNote(entry.first.getLoc())
          << what << " " << index << " is " << entry.first.getType();
    return diagnostic;
  }
  auto &[value, uses] = all.begin()[number];
  Operation *op = isInput ? uses.front()->getOwner() : value.getDefiningOp();
  FailureOr<ShardingAttr> asked =
      getAsked(directive, application.getLayout(), value.getType(),
               what + " " + Twine(number) + " of module \"" +
                   application.getScopes().getPath(scope) + "\"");
  if (failed(asked))
    return failure();
  return application.constrainBorder(directive, op, value, uses, *asked);
}

//===----------------------------------------------------------------------===//
// The directive
//===----------------------------------------------------------------------===//

namespace {
struct ShardDirective
    : ScheduleDirectiveOpInterface::ExternalModel<ShardDirective, ShardOp> {
  TargetKind getTargetKind(Operation *op) const {
    switch (cast<ShardOp>(op).getKind()) {
    case ShardTarget::Parameter:
      return TargetKind::Parameter;
    case ShardTarget::Input:
      return TargetKind::Input;
    case ShardTarget::Output:
      return TargetKind::Output;
    case ShardTarget::Column:
    case ShardTarget::Row:
    case ShardTarget::ModuleInput:
    case ShardTarget::ModuleOutput:
      break;
    }
    return TargetKind::Module;
  }

  std::optional<int64_t> getExpected(Operation *op) const {
    return cast<ShardOp>(op).getExpect();
  }

  FailureOr<unsigned> apply(Operation *op, ScheduleApplication &application,
                            ArrayRef<unsigned> targets) const {
    auto directive = cast<ShardOp>(op);
    switch (directive.getKind()) {
    case ShardTarget::Column:
    case ShardTarget::Row:
      return FeatureSharding(directive, application).run(targets);
    case ShardTarget::ModuleInput:
    case ShardTarget::ModuleOutput:
      for (unsigned scope : targets)
        if (failed(placeActivation(directive, application, scope)))
          return failure();
      break;
    case ShardTarget::Parameter:
    case ShardTarget::Input:
    case ShardTarget::Output:
      for (unsigned number : targets) {
        const NamedTensor &tensor = application.getScopes().getTensor(number);
        FailureOr<ShardingAttr> asked =
            getAsked(directive, application.getLayout(), tensor.getType(),
                     tensor.describe());
        if (failed(asked) ||
            failed(application.place(directive, tensor, *asked)))
          return failure();
      }
      break;
    }
    return targets.size();
  }
};
} // namespace

void mlir::dist::attachShardDirective(MLIRContext &context) {
  ShardOp::attachInterface<ShardDirective>(context);
}
