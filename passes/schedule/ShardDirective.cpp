//===- ShardDirective.cpp - dist.shard becomes shardings and constraints --===//
//
// `column` and `row` through the factors of contractions, the others by name.
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/Directives.h"
#include "passes/schedule/Schedule.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace mlir::dist;

//===----------------------------------------------------------------------===//
// Merging
//===----------------------------------------------------------------------===//

/// The sharding that says both: one of them is whole, or continues the other
/// with further axes, as `{"tp", "dp"}` does `{"tp"}`. Null if they contradict
/// each other.
static DimShardingAttr mergeDims(DimShardingAttr a, DimShardingAttr b) {
  if (a.isReplicated() || a.getSubDims() == b.getSubDims())
    return b;
  if (b.isReplicated())
    return a;
  if (a.getSubDims().size() != 1 || b.getSubDims().size() != 1)
    return {};
  SmallVector<AxisRefAttr> first = a.getAllAxes(), second = b.getAllAxes();
  size_t common = std::min(first.size(), second.size());
  if (ArrayRef(first).take_front(common) != ArrayRef(second).take_front(common))
    return {};
  return first.size() > second.size() ? a : b;
}

/// Both placements at once: each dimension as the one that shards it says. Null
/// and a reason where they contradict each other.
static ShardingAttr merge(ShardingAttr a, ShardingAttr b, std::string &reason) {
  llvm::raw_string_ostream why(reason);
  MLIRContext *context = a.getContext();
  if (a.getMesh() != b.getMesh()) {
    why << "the meshes differ";
    return {};
  }
  SmallVector<DimShardingAttr> dims;
  SmallVector<AxisRefAttr> axes;
  for (auto [number, pair] :
       llvm::enumerate(llvm::zip_equal(a.getDims(), b.getDims()))) {
    auto [first, second] = pair;
    DimShardingAttr one = mergeDims(first, second);
    if (!one) {
      why << "both shard dimension " << number
          << ", and neither continues the other with further axes";
      return {};
    }
    dims.push_back(DimShardingAttr::get(
        context, one.getSubDims(), first.getIsOpen() && second.getIsOpen()));
    for (AxisRefAttr axis : one.getAllAxes()) {
      for (AxisRefAttr other : axes)
        if (overlaps(axis, other)) {
          why << "they shard two dimensions over axis " << axis;
          return {};
        }
      axes.push_back(axis);
    }
  }
  return ShardingAttr::get(context, a.getMesh(), dims, a.getPartialKind(),
                           a.getPartialAxes());
}

LogicalResult DirectiveApplier::place(ShardOp directive,
                                      const NamedTensor &tensor,
                                      ShardingAttr sharding) {
  FunctionOpInterface function = tensor.function;
  auto type = dyn_cast<RankedTensorType>(tensor.getType());
  if (!type)
    return emitError(directive.getLoc())
           << tensor.describe() << " is no ranked tensor, but "
           << tensor.getType();
  if (failed(sharding.verifyFor(type.getShape(), layout.getAxes(), [&] {
        return emitError(directive.getLoc()) << tensor.describe() << ": ";
      })))
    return failure();
  unsigned i = tensor.index;
  Operation *&placer = placedBy[{function, 2 * i + tensor.isResult}];
  auto old = tensor.isResult
                 ? llvm::dyn_cast_or_null<ShardingAttr>(
                       function.getResultAttr(i, kShardingAttr))
                 : function.getArgAttrOfType<ShardingAttr>(i, kShardingAttr);
  if (old) {
    std::string reason;
    ShardingAttr both = merge(old, sharding, reason);
    if (!both) {
      InFlightDiagnostic diagnostic =
          emitError(directive.getLoc())
          << "places " << tensor.describe() << " as " << sharding
          << ", but it is placed as " << old << " already: " << reason;
      diagnostic.attachNote(placer ? placer->getLoc() : function->getLoc())
          << "placed here";
      return diagnostic;
    }
    sharding = both;
  }
  placer = directive;
  auto get = [&](StringRef name) {
    return tensor.isResult ? function.getResultAttr(i, name)
                           : function.getArgAttr(i, name);
  };
  std::string cause = describeDirective(directive);
  if (auto before = llvm::dyn_cast_or_null<StringAttr>(get(kCauseAttr)))
    cause = before.str() + "; " + cause;
  auto causeAttr = StringAttr::get(function.getContext(), cause);
  if (tensor.isResult) {
    function.setResultAttr(i, kShardingAttr, sharding);
    function.setResultAttr(i, kCauseAttr, causeAttr);
  } else {
    function.setArgAttr(i, kShardingAttr, sharding);
    function.setArgAttr(i, kCauseAttr, causeAttr);
  }
  return success();
}

LogicalResult DirectiveApplier::constrain(ShardOp directive, Operation *op,
                                          OpOperand *use,
                                          ShardingAttr sharding) {
  Value value = use ? use->get() : op->getResult(0);
  auto type = cast<RankedTensorType>(value.getType());
  if (failed(sharding.verifyFor(type.getShape(), layout.getAxes(),
                                [&] { return emitError(directive.getLoc()); })))
    return failure();
  std::string cause = describeDirective(directive);
  void *key = use ? static_cast<void *>(use) : static_cast<void *>(op);
  Constraint &made = constraints[key];
  if (made.op) {
    std::string reason;
    ShardingAttr both = merge(made.op.getSharding(), sharding, reason);
    if (!both) {
      InFlightDiagnostic diagnostic =
          emitError(directive.getLoc())
          << "asks for " << sharding << ", but the value is placed as "
          << made.op.getSharding() << " already: " << reason;
      diagnostic.attachNote(made.directive->getLoc()) << "placed here";
      diagnostic.attachNote(op->getLoc()) << "at this op";
      return diagnostic;
    }
    made.op.setShardingAttr(both);
    made.op.setCause(made.op.getCause()->str() + "; " + cause);
    made.directive = directive;
    return success();
  }
  OpBuilder builder(op);
  if (!use)
    builder.setInsertionPointAfter(op);
  auto constraint =
      ShardingConstraintOp::create(builder, locate(directive, op), type, value,
                                   sharding, builder.getStringAttr(cause));
  constraint->setAttr(kScopeAttr, op->getAttr(kScopeAttr));
  index.add(constraint);
  if (use)
    use->set(constraint);
  else
    value.replaceAllUsesExcept(constraint, constraint);
  made = {constraint, directive};
  return success();
}

//===----------------------------------------------------------------------===//
// column and row
//===----------------------------------------------------------------------===//

static SmallVector<int64_t> getSizes(const ShardingRule &rule,
                                     ArrayRef<unsigned> factors) {
  return llvm::map_to_vector(
      factors, [&](unsigned factor) { return rule.factors[factor].size; });
}

/// Whether a dimension of the tensor holds `factor`.
static bool holds(const TensorRule &tensor, unsigned factor) {
  return llvm::any_of(tensor.dims, [&](ArrayRef<unsigned> factors) {
    return llvm::is_contained(factors, factor);
  });
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

/// Chooses, of the factors that the features are a product of, the one to
/// shard, and how: the major one, once the groups are taken off.
FailureOr<DimShardingAttr>
DirectiveApplier::shardFactor(ShardOp directive,
                              const FeatureContraction &contraction,
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
      return DimShardingAttr::get(mesh.getContext(), axes);
    if (size / groupsLeft % layout.size(axes) != 0)
      return fail() << "a group of " << size / groupsLeft
                    << " features cannot be split among " << layout.size(axes)
                    << " devices evenly; interleaved "
                    << "dimensions must be";
    MLIRContext *context = mesh.getContext();
    SmallVector<SubDimAttr> subDims{SubDimAttr::get(context, groupsLeft, {}),
                                    SubDimAttr::get(context, 0, axes)};
    return DimShardingAttr::get(context, subDims, false);
  }
  return fail() << "no features are left to shard after groups " << groups;
}

LogicalResult
DirectiveApplier::placeParameter(ShardOp directive,
                                 const FeatureContraction &contraction,
                                 unsigned factor, DimShardingAttr sharding) {
  const Origin &origin = contraction.origin;
  auto argument = cast<BlockArgument>(origin.root);
  auto function = cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
  auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                    kParameterAttr);
  NamedTensor parameter{name.getValue(), function, argument.getArgNumber(),
                        false};
  ShardingAttr placed = placeFactor(
      layout, contraction.rule,
      contraction.rule.operands[contraction.parameter->getOperandNumber()],
      factor, sharding);

  // Back through the ops between the parameter and the contraction.
  Operation *at = contraction.op;
  for (OpOperand *step : origin.chain) {
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
    MLIRContext *context = mesh.getContext();
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
      fits &= factors[number] == layout.none() || holds(source, number);
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
  return place(directive, parameter, placed);
}

LogicalResult
DirectiveApplier::shardContraction(ShardOp directive,
                                   const FeatureContraction &contraction) {
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
      bool isFeature =
          isColumn
              ? kind == FactorKind::Parallel && !holds(activation, factor) &&
                    holds(rule.results[0], factor)
              : kind == FactorKind::Reduction && holds(activation, factor);
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
      shardFactor(directive, contraction, features, factor);
  if (failed(sharding) ||
      failed(placeParameter(directive, contraction, factor, *sharding)))
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
  return constrain(directive, contraction.op,
                   isColumn ? nullptr : contraction.activation, placed);
}

/// A parameter that `op` reads, if any.
static std::optional<NamedTensor> findParameter(Operation *op) {
  for (OpOperand *operand : getDataOperands(op)) {
    Origin origin = findOrigin(operand->get());
    if (origin.kind != Origin::Parameter)
      continue;
    auto argument = cast<BlockArgument>(origin.root);
    auto function =
        cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
    unsigned i = argument.getArgNumber();
    auto name = function.getArgAttrOfType<StringAttr>(i, kParameterAttr);
    return NamedTensor{name.getValue(), function, i, false};
  }
  return std::nullopt;
}

FailureOr<unsigned> DirectiveApplier::shardFeatures(ShardOp directive) {
  SmallVector<AxisRefAttr> axes = getAxisRefs(*directive.getAxes());
  if (failed(verifyAxes(directive, axes)))
    return failure();
  FailureOr<SmallVector<StringRef>> paths =
      matchPaths(directive, directive.getTarget(), directive.getOptional());
  if (failed(paths))
    return failure();
  StringRef kind = stringifyShardTarget(directive.getKind());
  llvm::SmallPtrSet<Operation *, 16> done;
  for (StringRef path : *paths) {
    bool found = false;
    std::optional<NamedTensor> parameter;
    Operation *reader = nullptr;
    for (Operation *op : index.getOps(path)) {
      std::optional<FeatureContraction> contraction =
          findFeatureContraction(op);
      if (!contraction) {
        if (!parameter && (parameter = findParameter(op)))
          reader = op;
        continue;
      }
      found = true;
      if (done.insert(op).second &&
          failed(shardContraction(directive, *contraction)))
        return failure();
    }
    // Modules without parameters, such as activations, may match a glob that is
    // meant for their neighbours; one with parameters is meant.
    if (found || !parameter)
      continue;
    InFlightDiagnostic diagnostic =
        emitError(directive.getLoc())
        << "module \"" << path << "\" has no contraction with a parameter, so '"
        << kind << "' does not apply; to place its parameter write dist.shard "
        << "parameter \"" << parameter->name << "\" [";
    auto type = dyn_cast<RankedTensorType>(parameter->getType());
    for (int64_t dim = 0, rank = type ? type.getRank() : 0; dim < rank; ++dim) {
      diagnostic << (dim ? ", {" : "{");
      if (dim == 0)
        llvm::interleaveComma(axes, diagnostic);
      diagnostic << "}";
    }
    diagnostic << "]";
    diagnostic.attachNote(reader->getLoc()) << "the parameter is read here";
    return diagnostic;
  }
  if (done.empty() && !paths->empty())
    return emitError(directive.getLoc())
           << "\"" << directive.getTarget() << "\" matches " << paths->size()
           << (paths->size() == 1 ? " module" : " modules") << ", the first \""
           << paths->front() << "\", but no contraction with a parameter";
  return done.size();
}

//===----------------------------------------------------------------------===//
// parameter, input and output
//===----------------------------------------------------------------------===//

FailureOr<unsigned> DirectiveApplier::placeTensors(ShardOp directive) {
  MLIRContext *context = mesh.getContext();
  SmallVector<DimShardingAttr> dims =
      llvm::map_to_vector(*directive.getDims(), [](Attribute dim) {
        return cast<DimShardingAttr>(dim);
      });
  auto sharding = ShardingAttr::get(context, layout.getName(), dims,
                                    ReductionKind::Sum, {});
  ArrayRef<NamedTensor> tensors = index.getTensors(directive.getKind());
  SmallVector<StringRef> names = llvm::map_to_vector(
      tensors, [](const NamedTensor &tensor) { return tensor.name; });
  FailureOr<SmallVector<unsigned>> matches =
      match(directive, directive.getTarget(), names,
            stringifyShardTarget(directive.getKind()), directive.getOptional());
  if (failed(matches))
    return failure();
  for (unsigned number : *matches)
    if (failed(place(directive, tensors[number], sharding)))
      return failure();
  return matches->size();
}

FailureOr<unsigned> DirectiveApplier::applyShard(ShardOp directive) {
  return directive.getDims() ? placeTensors(directive)
                             : shardFeatures(directive);
}
