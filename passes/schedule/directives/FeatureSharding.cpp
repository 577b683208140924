//===- FeatureSharding.cpp - column, row and heads ------------------------===//
//
// Through the factors of contractions, whatever layout a weight is stored in.
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/directives/FeatureSharding.h"
#include "dialects/dist/IR/Schedule.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/schedule/directives/FeatureBlocks.h"
#include "passes/schedule/directives/Heads.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include <numeric>

using namespace mlir;
using namespace mlir::dist;

static SmallVector<int64_t> getSizes(const ShardingRule &rule,
                                     ArrayRef<unsigned> factors) {
  return llvm::map_to_vector(
      factors, [&](unsigned factor) { return rule.factors[factor].size; });
}

ShardingAttr mlir::dist::placeFactor(const MeshLayout &layout,
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
/// Shards features of contractions.
class FeatureSharding {
public:
  /// With `pieces` the features are so many blocks, and blocks of these, that
  /// are whole. The result of a column is sharded over `rest` in no dimension.
  FeatureSharding(ShardOp directive, ScheduleApplication &application,
                  bool isColumn, ArrayRef<AxisRefAttr> axes, int64_t groups,
                  ArrayRef<Piece> pieces = {}, ArrayRef<AxisRefAttr> rest = {})
      : directive(directive), application(application),
        layout(application.getLayout()), isColumn(isColumn), axes(axes),
        groups(groups), pieces(pieces), rest(rest) {}

  LogicalResult shardContraction(const FeatureContraction &contraction);

private:
  FailureOr<DimShardingAttr> shardFactor(const FeatureContraction &contraction,
                                         ArrayRef<unsigned> features,
                                         unsigned &factor);
  std::optional<unsigned> findGroups(const FeatureContraction &contraction,
                                     unsigned feature) const;

  ShardOp directive;
  ScheduleApplication &application;
  const MeshLayout &layout;
  bool isColumn;
  ArrayRef<AxisRefAttr> axes;
  int64_t groups;
  ArrayRef<Piece> pieces;
  ArrayRef<AxisRefAttr> rest;
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
  auto fail = [&]() -> InFlightDiagnostic {
    InFlightDiagnostic diagnostic = emitError(directive.getLoc());
    diagnostic.attachNote(contraction.op->getLoc()) << "at this contraction";
    return diagnostic;
  };
  if (all % groups != 0)
    return fail() << "groups " << groups << " do not divide the " << all << " "
                  << (isColumn ? "output" : "input") << " features";
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
    // Blocks that need not divide evenly: some devices have as many as others,
    // the last ones fewer.
    int64_t units = 1;
    for (const Piece &piece : pieces)
      units *= piece.size;
    if (units > 1 && groupsLeft == 1 && size % units == 0) {
      SmallVector<Piece, 3> all(pieces.begin(), pieces.end());
      all.push_back({size / units, {}});
      return layout.canonical(all);
    }
    if (groupsLeft == 1)
      return DimShardingAttr::get(layout.getContext(), axes);
    if (size / groupsLeft % layout.size(axes) != 0)
      return fail()
             << "a group of " << size / groupsLeft
             << " features cannot be split among " << layout.size(axes)
             << " devices evenly, as interleaved dimensions must be; "
             << "the size of the axis has to divide it. 'heads', of the "
             << "attention around its projections, also takes heads that "
             << "the devices do not divide";
    MLIRContext *context = layout.getContext();
    SmallVector<SubDimAttr> subDims{SubDimAttr::get(context, groupsLeft, {}),
                                    SubDimAttr::get(context, 0, axes)};
    return DimShardingAttr::get(context, subDims, false);
  }
  return fail() << "no features are left to shard after groups " << groups;
}

LogicalResult mlir::dist::placeParameterOf(ShardOp directive,
                                           ScheduleApplication &application,
                                           Operation *op,
                                           const ShardingRule &opRule,
                                           OpOperand *read, unsigned factor,
                                           DimShardingAttr sharding) {
  const MeshLayout &layout = application.getLayout();
  NamedTensor parameter = *application.getOrigins().findParameter(read->get());
  ShardingAttr placed =
      placeFactor(layout, opRule, opRule.operands[read->getOperandNumber()],
                  factor, sharding);

  // Back through the ops between the parameter and `op`.
  Operation *at = op;
  for (OpOperand *step : Origins::getChain(read->get())) {
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
        << "\" cannot be sharded as what reads it needs: "
        << "its dimensions are not divided evenly, as there "
        << opRule.factors[factor].size << " are to be on "
        << layout.size(sharding.getAllAxes())
        << " devices; dist.shard parameter says how else it may be placed";
    diagnostic.attachNote(at->getLoc()) << "through this op";
    return diagnostic;
  }
  return application.place(directive, parameter, placed);
}

/// In a grouped convolution, output features are groups of features. The groups
/// are sharded, with their input channels, if the devices divide them, or if
/// the devices do not divide the features of a group either.
std::optional<unsigned>
FeatureSharding::findGroups(const FeatureContraction &contraction,
                            unsigned feature) const {
  auto expand =
      contraction.parameter->get().getDefiningOp<tensor::ExpandShapeOp>();
  if (!expand)
    return std::nullopt;
  const ShardingRule &rule = contraction.rule;
  const TensorRule &parameter =
      rule.operands[contraction.parameter->getOperandNumber()];
  const TensorRule &activation =
      rule.operands[contraction.activation->getOperandNumber()];
  SmallVector<int64_t> sizes(expand.getResultType().getShape());
  // Of groups of one feature, as in depthwise convolutions, the reshape does
  // not tell which dimension the 1 is a part of.
  bool isAlone = rule.factors[feature].size == 1;
  for (ArrayRef<int64_t> dims : expand.getReassociationIndices()) {
    SmallVector<int64_t> apart(dims);
    if (isAlone) {
      llvm::erase_if(apart, [&](int64_t dim) { return sizes[dim] == 1; });
      if (apart.size() != 1)
        continue;
      int64_t next = apart.front() + 1;
      while (next < expand.getResultType().getRank() &&
             !llvm::is_contained(parameter.dims[next], feature) &&
             sizes[next] == 1)
        ++next;
      apart.push_back(next);
    }
    if (apart.size() != 2 || apart.back() >= expand.getResultType().getRank() ||
        !llvm::is_contained(parameter.dims[apart.back()], feature) ||
        parameter.dims[apart.front()].size() != 1)
      continue;
    unsigned group = parameter.dims[apart.front()].front();
    int64_t devices = layout.size(axes);
    if (rule.factors[group].kind == FactorKind::Parallel &&
        holdsFactor(activation, group) && holdsFactor(rule.results[0], group) &&
        (rule.factors[group].size % devices == 0 ||
         rule.factors[feature].size % devices != 0))
      return group;
  }
  return std::nullopt;
}

LogicalResult
FeatureSharding::shardContraction(const FeatureContraction &contraction) {
  const ShardingRule &rule = contraction.rule;
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
  if (isColumn && groups == 1 && pieces.empty())
    if (std::optional<unsigned> group =
            findGroups(contraction, features.front()))
      features.insert(features.begin(), *group);
  unsigned factor = 0;
  FailureOr<DimShardingAttr> sharding =
      shardFactor(contraction, features, factor);
  if (failed(sharding))
    return failure();
  if (!axes.empty() &&
      failed(placeParameterOf(directive, application, contraction.op, rule,
                              contraction.parameter, factor, *sharding)))
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
                               placed, /*result=*/0, rest);
}

//===----------------------------------------------------------------------===//
// column and row
//===----------------------------------------------------------------------===//

/// An error with advice for the parameter of a module without a contraction.
static InFlightDiagnostic suggestPlacement(ShardOp directive,
                                           ScheduleApplication &application,
                                           unsigned scope,
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
    if (dim == 0 && directive.getGroups() != 1)
      diagnostic << " groups " << directive.getGroups();
  }
  diagnostic << "]";
  if (std::optional<ArrayRef<int64_t>> blocks = directive.getBlocks()) {
    diagnostic << " groups [";
    llvm::interleaveComma(*blocks, diagnostic);
    diagnostic << "] dim 0";
  }
  return diagnostic;
}

/// Notes the parameters that a module reads whole, and that another directive
/// has taken apart.
static void noteDivided(ScheduleApplication &application, unsigned scope,
                        InFlightDiagnostic &diagnostic) {
  for (Operation *op : application.getScopes().getOps(scope))
    for (OpOperand *operand : getDataOperands(op)) {
      auto concat = application.getOrigins()
                        .get(operand->get())
                        .root.getDefiningOp<tensor::ConcatOp>();
      if (!concat)
        continue;
      if (auto part = application.getOrigins().findParameter(
              concat.getInputs().front()))
        diagnostic.attachNote(op->getLoc())
            << "reads parameter \"" << part->name << "\", which is in "
            << concat.getInputs().size()
            << " blocks, as another directive takes it apart (groups, heads)";
    }
}

FailureOr<unsigned> mlir::dist::shardFeatures(ShardOp directive,
                                              ScheduleApplication &application,
                                              ArrayRef<unsigned> scopes) {
  SmallVector<AxisRefAttr> axes = getAxisRefs(*directive.getAxes());
  FeatureSharding sharding(directive, application,
                           directive.getKind() == ShardTarget::Column, axes,
                           directive.getGroups());
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
      if (failed(sharding.shardContraction(*contraction)))
        return failure();
    }
    // Modules without parameters, such as activations, may match a glob that is
    // meant for their neighbours; one with parameters is meant.
    if (found || !parameter)
      continue;
    InFlightDiagnostic diagnostic =
        suggestPlacement(directive, application, scope, *parameter);
    diagnostic.attachNote(reader->getLoc()) << "the parameter is read here";
    return diagnostic;
  }
  if (done.empty() && !scopes.empty()) {
    InFlightDiagnostic diagnostic =
        emitError(directive.getLoc())
        << "\"" << directive.getTarget() << "\" matches " << scopes.size()
        << (scopes.size() == 1 ? " module" : " modules") << ", the first \""
        << application.getScopes().getPath(scopes.front())
        << "\", but no contraction with a parameter";
    for (unsigned scope : scopes)
      noteDivided(application, scope, diagnostic);
    return diagnostic;
  }
  // A contraction that was split is one place.
  return done.size() /
         (directive.getBlocks() ? directive.getBlocks()->size() : 1);
}

//===----------------------------------------------------------------------===//
// heads
//===----------------------------------------------------------------------===//

/// As much of the axes, from the major ones on, as divides the heads.
static SmallVector<AxisRefAttr>
cutAxes(const MeshLayout &layout, ArrayRef<AxisRefAttr> axes, int64_t heads) {
  SmallVector<AxisRefAttr> out;
  for (AxisRefAttr axis : axes) {
    int64_t common = std::gcd(heads, layout.size(axis));
    if (common == layout.size(axis)) {
      out.push_back(axis);
      heads /= common;
      continue;
    }
    if (common > 1)
      out.push_back(layout.cut(axis, common).first);
    break;
  }
  return out;
}

/// The rest of the axes without `major`.
static SmallVector<AxisRefAttr> getMinorAxes(const MeshLayout &layout,
                                             ArrayRef<AxisRefAttr> axes,
                                             ArrayRef<AxisRefAttr> major) {
  SmallVector<AxisRefAttr> out;
  for (auto [index, axis] : llvm::enumerate(axes))
    if (index >= major.size())
      out.push_back(axis);
    else if (major[index] != axis)
      out.push_back(layout.cut(axis, layout.size(major[index])).second);
  return out;
}

FailureOr<unsigned> mlir::dist::shardHeads(ShardOp directive,
                                           ScheduleApplication &application,
                                           ArrayRef<unsigned> scopes) {
  const MeshLayout &layout = application.getLayout();
  SmallVector<AxisRefAttr> axes = getAxisRefs(*directive.getAxes());
  int64_t devices = layout.size(axes);
  llvm::SmallPtrSet<Operation *, 16> done;
  for (unsigned scope : scopes) {
    std::vector<HeadProjection> projections = findHeadProjections(
        application.getScopes().getOps(scope), application.getOrigins());
    HeadCounts heads(projections);
    if (!heads.toQueries)
      return emitError(directive.getLoc())
             << "module \"" << application.getScopes().getPath(scope)
             << "\" has no attention: no contraction of what its projections "
                "make; 'column' and 'row' shard projections by themselves";
    int64_t units = heads.isEven(devices) ? 0 : heads.getUnits(devices);
    // Queries that are [keys' heads, group] are cut in both, unless the heads
    // alone, cut unevenly, give each device less.
    SmallVector<AxisRefAttr> major = cutAxes(layout, axes, heads.queries),
                             ofKeys = getMinorAxes(layout, axes, major),
                             minor = cutAxes(layout, ofKeys, heads.group),
                             both(major);
    llvm::append_range(both, minor);
    bool isNested =
        !minor.empty() &&
        heads.queries < layout.size(both) *
                            int64_t(llvm::divideCeil(heads.queries, devices));
    for (const HeadProjection &projection : projections) {
      Operation *op = projection.contraction.op;
      if (!done.insert(op).second)
        continue;
      // Keys and values of fewer heads than devices: each is with all that
      // share it, or all are with everybody.
      SmallVector<AxisRefAttr> own(axes), rest;
      SmallVector<Piece, 2> pieces;
      if (isNested) {
        own = major;
        rest = ofKeys;
        if (!projection.isInput() || projection.blocks.front().group > 1) {
          own = both;
          rest = getMinorAxes(layout, ofKeys, minor);
          pieces = {{heads.queries, {major.begin(), major.end()}},
                    {heads.group, {minor.begin(), minor.end()}}};
        }
      } else if (units > 0) {
        pieces = {{units, {axes.begin(), axes.end()}}};
      }
      if (projection.isInput() && !isNested) {
        int64_t count = projection.blocks.front().heads;
        if (units == 0) {
          own = cutAxes(layout, axes, count);
        } else if (count % units != 0) {
          own.clear();
          pieces.clear();
        }
        // Devices that need the same projections compute the same, from the
        // whole input of the queries, although a sequence is sharded over them.
        rest = getMinorAxes(layout, axes, own);
      }
      FeatureSharding sharding(
          directive, application, projection.isInput(), own,
          projection.blocks.size() > 1 ? projection.blocks.size() : 1, pieces,
          rest);
      if (failed(sharding.shardContraction(projection.contraction)))
        return failure();
    }
  }
  return scopes.size();
}

//===----------------------------------------------------------------------===//
// Fused projections
//===----------------------------------------------------------------------===//

/// Takes the projections apart that apply parameters, in the blocks that the
/// directive cuts these in.
static LogicalResult splitAppliers(ShardOp directive, const ScopeIndex &scopes,
                                   ArrayRef<unsigned> parameters,
                                   Origins &origins, FeatureBlocks &blocks) {
  for (unsigned number : parameters) {
    const NamedTensor &tensor = scopes.getTensor(number);
    FunctionOpInterface function = tensor.function;
    if (function.isExternal())
      continue;
    Value parameter = function.getArgument(tensor.index);
    // Values that depend only on the whole parameter, up to the op that applies
    // it.
    llvm::SmallSetVector<Value, 4> made;
    made.insert(parameter);
    for (size_t next = 0; next < made.size(); ++next) {
      Value value = made[next];
      llvm::SetVector<Operation *> users(value.user_begin(), value.user_end());
      for (Operation *user : users) {
        if (isa<tensor::ExtractSliceOp>(user) || user->getNumResults() != 1)
          continue;
        auto contraction = origins.findFeatureContraction(user);
        if (contraction &&
            origins.get(contraction->parameter->get()).root == parameter) {
          if (failed(blocks.split(directive, *contraction,
                                  *directive.getBlocks())))
            return failure();
        } else if (origins.get(user->getResult(0)).root == parameter) {
          made.insert(user->getResult(0));
        }
      }
    }
  }
  return success();
}

LogicalResult mlir::dist::splitFusedProjections(
    ShardOp directive, ScopeIndex &scopes, ArrayRef<unsigned> targets,
    const MeshLayout &layout, Origins &origins, FeatureBlocks &blocks) {
  if (directive.getKind() == ShardTarget::Parameter)
    return splitAppliers(directive, scopes, targets, origins, blocks);
  int64_t devices =
      directive.getAxes() ? layout.size(getAxisRefs(*directive.getAxes())) : 1;
  for (unsigned scope : targets) {
    SmallVector<Operation *> ops = scopes.getOps(scope);
    if (std::optional<ArrayRef<int64_t>> given = directive.getBlocks())
      for (Operation *op : ops)
        if (auto contraction = origins.findFeatureContraction(op))
          if (failed(blocks.split(directive, *contraction, *given)))
            return failure();
    if (directive.getKind() != ShardTarget::Heads)
      continue;
    std::vector<HeadProjection> projections = findHeadProjections(ops, origins);
    bool isEven = HeadCounts(projections).isEven(devices);
    for (const HeadProjection &projection : projections) {
      if (!projection.isInput() || projection.blocks.size() == 1 ||
          (isEven && projection.isEven()))
        continue;
      SmallVector<int64_t> sizes;
      for (const FeatureBlock &block : projection.blocks)
        sizes.push_back(block.size);
      if (failed(blocks.split(directive, projection.contraction, sizes)))
        return failure();
    }
  }
  return success();
}
