//===- Experts.cpp - Mixtures of experts ----------------------------------===//
//
// The weights of a layer's experts are one parameter, of which one dimension
// counts the experts. Tokens look up their experts' weights, or every expert is
// applied to all tokens. Either way the ops tell which dimension that is.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Schedule.h"
#include "dialects/dist/Interfaces/ExclusiveSums.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/schedule/directives/FeatureSharding.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
/// An op that applies, or looks up, one weight of all experts of a layer.
struct ExpertWeight {
  Operation *op;
  ShardingRule rule;
  OpOperand *parameter;
  /// The factor that counts the experts.
  unsigned factor;

  int64_t getCount() const { return rule.factors[factor].size; }
};
} // namespace

/// Whether `factor` is of the parameter and of no other tensor that is read.
static bool isOfParameterOnly(const ShardingRule &rule, OpOperand *parameter,
                              ArrayRef<OpOperand *> data, unsigned factor) {
  return holdsFactor(rule.operands[parameter->getOperandNumber()], factor) &&
         llvm::none_of(data, [&](OpOperand *other) {
           return other != parameter &&
                  holdsFactor(rule.operands[other->getOperandNumber()], factor);
         });
}

/// The factor that counts the experts, where `op` tells which it is.
static std::optional<unsigned> findExpertFactor(Operation *op,
                                                const ShardingRule &rule,
                                                OpOperand *parameter,
                                                ArrayRef<OpOperand *> data) {
  const TensorRule &weight = rule.operands[parameter->getOperandNumber()];
  for (ArrayRef<unsigned> factors : weight.dims)
    for (unsigned factor : factors) {
      bool isLookedUp = !rule.isContraction &&
                        rule.factors[factor].kind == FactorKind::Reduction &&
                        isOfParameterOnly(rule, parameter, data, factor);
      bool isBatch = rule.isContraction &&
                     rule.factors[factor].kind == FactorKind::Parallel &&
                     !isOfParameterOnly(rule, parameter, data, factor);
      if (isLookedUp || isBatch)
        return factor;
    }
  return std::nullopt;
}

/// In a contraction of the same tokens with all experts, the experts are output
/// features, beside each one's own: the factor of size `count`.
static std::optional<unsigned> findExpertFeature(const ShardingRule &rule,
                                                 OpOperand *parameter,
                                                 ArrayRef<OpOperand *> data,
                                                 int64_t count) {
  SmallVector<unsigned> features;
  for (ArrayRef<unsigned> factors :
       rule.operands[parameter->getOperandNumber()].dims)
    for (unsigned factor : factors)
      if (rule.isContraction &&
          rule.factors[factor].kind == FactorKind::Parallel &&
          isOfParameterOnly(rule, parameter, data, factor))
        features.push_back(factor);
  if (features.size() >= 2)
    for (unsigned factor : features)
      if (rule.factors[factor].size == count)
        return factor;
  return std::nullopt;
}

/// The ops of a module that apply experts' weights; empty if there are no such
/// ops.
static std::vector<ExpertWeight> findExpertWeights(ArrayRef<Operation *> ops,
                                                   Origins &origins) {
  std::vector<ExpertWeight> found;
  struct Candidate {
    Operation *op;
    ShardingRule rule;
    OpOperand *parameter;
  };
  std::vector<Candidate> others;
  for (Operation *op : ops) {
    SmallVector<OpOperand *, 4> data = getDataOperands(op);
    if (data.size() < 2 || op->getNumResults() != 1)
      continue;
    ShardingRule rule = getShardingRule(op);
    for (OpOperand *operand : data) {
      if (origins.get(operand->get()).kind != Origin::Parameter ||
          llvm::none_of(data, [&](OpOperand *other) {
            return origins.get(other->get()).kind == Origin::Computed;
          }))
        continue;
      if (auto factor = findExpertFactor(op, rule, operand, data))
        found.push_back({op, rule, operand, *factor});
      else
        others.push_back({op, rule, operand});
    }
  }
  size_t sure = found.size();
  for (Candidate &one : others)
    if (sure != 0)
      if (auto factor =
              findExpertFeature(one.rule, one.parameter,
                                getDataOperands(one.op), found[0].getCount()))
        found.push_back({one.op, std::move(one.rule), one.parameter, *factor});
  return found;
}

//===----------------------------------------------------------------------===//
// Zeros of zeros
//===----------------------------------------------------------------------===//

namespace {
/// The result of an expert's device for a token is right, and that of other
/// devices is zero, like the weights that they look up. If an op in between
/// does not map zero to zero (a sigmoid gives one half), it gets a mask: one on
/// the expert's device, zero elsewhere.
class ExpertMasks {
public:
  ExpertMasks(ShardOp directive, ScheduleApplication &application,
              DimShardingAttr cut)
      : directive(directive), application(application), cut(cut) {}

  /// Masks the ops of a module that need it, in program order. `lookups` look
  /// up weights.
  LogicalResult run(ArrayRef<Operation *> ops,
                    const llvm::SmallPtrSetImpl<Operation *> &lookups);

private:
  LogicalResult mask(linalg::GenericOp op, OpOperand *row);
  FailureOr<Value> getMask(const ExclusiveSum &sum, linalg::GenericOp user);

  ShardOp directive;
  ScheduleApplication &application;
  DimShardingAttr cut;
  ExclusiveSums sums;
  /// By the indices and the type of elements.
  llvm::DenseMap<std::pair<Value, Type>, Value> masks;
};
} // namespace

/// A pending one for each row, on its owner: it is looked up in a table of ones
/// that is sharded like the weights.
FailureOr<Value> ExpertMasks::getMask(const ExclusiveSum &sum,
                                      linalg::GenericOp user) {
  Type element = getElementTypeOrSelf(user.getResult(0).getType());
  Value &made = masks[{sum.indices, element}];
  if (made)
    return made;
  // Readers may be in different loops: what follows the indices dominates all.
  OpBuilder builder(user);
  builder.setInsertionPointAfterValue(sum.indices);
  Location loc = application.locate(directive, user);
  auto tableType = RankedTensorType::get({sum.tableSize}, element);
  Attribute scope = user->getAttr(kScopeAttr);
  auto one = isa<FloatType>(element)
                 ? cast<TypedAttr>(builder.getFloatAttr(element, 1.0))
                 : cast<TypedAttr>(builder.getIntegerAttr(element, 1));
  auto table = arith::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(tableType, Attribute(one)));
  auto indices = cast<RankedTensorType>(sum.indices.getType());
  auto gather = tensor::GatherOp::create(
      builder, loc,
      RankedTensorType::get(indices.getShape().drop_back(), element), table,
      sum.indices, ArrayRef<int64_t>{0});
  for (Operation *op : {table.getOperation(), gather.getOperation()}) {
    op->setAttr(kScopeAttr, scope);
    application.getScopes().add(op);
  }
  const MeshLayout &layout = application.getLayout();
  if (failed(application.constrain(directive, table, nullptr,
                                   ShardingAttr::get(builder.getContext(),
                                                     layout.getName(), {cut},
                                                     ReductionKind::Sum, {}))))
    return failure();
  sums.visit(gather, getShardingRule(gather), {false, false}, cut);
  return made = gather.getResult();
}

LogicalResult ExpertMasks::mask(linalg::GenericOp op, OpOperand *row) {
  const ExclusiveSum sum = *sums.get(row->get());
  FailureOr<Value> made = getMask(sum, op);
  if (failed(made))
    return failure();
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  AffineMap map = maps[row->getOperandNumber()];
  SmallVector<AffineExpr> loops;
  for (unsigned dim : sum.slots)
    loops.push_back(map.getResult(dim));
  unsigned inputs = op.getNumDpsInputs();
  maps.insert(maps.begin() + inputs,
              AffineMap::get(map.getNumDims(), 0, loops, op.getContext()));
  op.getInputsMutable().append(*made);
  OpBuilder builder(op);
  op.setIndexingMapsAttr(builder.getAffineMapArrayAttr(maps));
  Type element = getElementTypeOrSelf(made->getType());
  Block &body = op.getRegion().front();
  Value here = body.insertArgument(inputs, element, op.getLoc());
  Operation *yield = body.getTerminator();
  builder.setInsertionPoint(yield);
  Location loc = yield->getLoc();
  Value zero = arith::ConstantOp::create(
      builder, loc, cast<TypedAttr>(builder.getZeroAttr(element)));
  Value isHere = isa<FloatType>(element)
                     ? arith::CmpFOp::create(
                           builder, loc, arith::CmpFPredicate::ONE, here, zero)
                           .getResult()
                     : arith::CmpIOp::create(
                           builder, loc, arith::CmpIPredicate::ne, here, zero)
                           .getResult();
  yield->setOperand(0, arith::SelectOp::create(builder, loc, isHere,
                                               yield->getOperand(0), zero));
  return success();
}

LogicalResult
ExpertMasks::run(ArrayRef<Operation *> ops,
                 const llvm::SmallPtrSetImpl<Operation *> &lookups) {
  for (Operation *op : ops) {
    if (lookups.contains(op)) {
      sums.visit(op, getShardingRule(op),
                 SmallVector<bool>(op->getNumOperands(), false), cut);
      continue;
    }
    SmallVector<bool> flagged;
    OpOperand *row = nullptr;
    for (OpOperand &operand : op->getOpOperands()) {
      flagged.push_back(sums.get(operand.get()));
      if (flagged.back() && !row)
        row = &operand;
    }
    if (!row)
      continue;
    if (isa<ShardingConstraintOp>(op)) {
      sums.copy(row->get(), op->getResult(0));
      continue;
    }
    ShardingRule rule = getShardingRule(op);
    sums.visit(op, rule, flagged);
    auto generic = dyn_cast<linalg::GenericOp>(op);
    if (!generic || op->getNumResults() != 1 || sums.get(op->getResult(0)) ||
        generic.getNumParallelLoops() != generic.getNumLoops() ||
        !sums.passesMasked(op, rule, flagged))
      continue;
    Type element = getElementTypeOrSelf(op->getResult(0).getType());
    if (!element.isIntOrFloat() || element.isInteger(1))
      continue; // no number that a sum could leave pending
    if (failed(mask(generic, row)))
      return failure();
    flagged.insert(flagged.begin() + generic.getNumDpsInputs() - 1, true);
    sums.visit(op, getShardingRule(op), flagged);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The directive
//===----------------------------------------------------------------------===//

/// An error that describes what was found instead of weights of experts.
static InFlightDiagnostic sayNoExperts(ShardOp directive,
                                       ScheduleApplication &application,
                                       unsigned scope) {
  StringRef path = application.getScopes().getPath(scope);
  InFlightDiagnostic diagnostic =
      emitError(directive.getLoc())
      << "module \"" << path << "\" has no experts: no parameter in it is "
      << "looked up by tokens, or applied, with one part for each expert";
  for (StringRef name : application.getScopes().getNames(TargetKind::Module)) {
    StringRef rest = name;
    if (rest.consume_front(path) && rest.consume_front(".") &&
        rest.take_until([](char c) { return c == '.'; }) == "0")
      return std::move(diagnostic
                       << "; \"" << name << "\" looks like one of several "
                       << "with weights of their own, of which no rank can "
                       << "leave one out: export the model with the experts' "
                       << "weights in one parameter, or shard each with "
                       << "'column' and 'row'");
  }
  return diagnostic;
}

FailureOr<unsigned> mlir::dist::shardExperts(ShardOp directive,
                                             ScheduleApplication &application,
                                             ArrayRef<unsigned> scopes) {
  auto sharding = DimShardingAttr::get(directive.getContext(),
                                       getAxisRefs(*directive.getAxes()));
  unsigned places = 0;
  llvm::SmallPtrSet<Operation *, 16> done;
  for (unsigned scope : scopes) {
    SmallVector<Operation *> ops = application.getScopes().getOps(scope);
    std::vector<ExpertWeight> weights =
        findExpertWeights(ops, application.getOrigins());
    if (weights.empty())
      return sayNoExperts(directive, application, scope);
    llvm::SmallPtrSet<Operation *, 4> lookups;
    for (const ExpertWeight &weight : weights) {
      if (weight.getCount() != weights.front().getCount()) {
        InFlightDiagnostic diagnostic =
            emitError(directive.getLoc())
            << "module \"" << application.getScopes().getPath(scope)
            << "\" has weights of " << weights.front().getCount()
            << " experts, and of " << weight.getCount()
            << "; name a module that has one kind only";
        diagnostic.attachNote(weights.front().op->getLoc())
            << weights.front().getCount() << " here";
        diagnostic.attachNote(weight.op->getLoc())
            << weight.getCount() << " here";
        return diagnostic;
      }
      if (!done.insert(weight.op).second)
        continue;
      // Beside its use, too: else it might only be stored so.
      if (failed(placeParameterOf(directive, application, weight.op,
                                  weight.rule, weight.parameter, weight.factor,
                                  sharding)) ||
          failed(application.constrain(
              directive, weight.op, weight.parameter,
              placeFactor(
                  application.getLayout(), weight.rule,
                  weight.rule.operands[weight.parameter->getOperandNumber()],
                  weight.factor, sharding))))
        return failure();
      if (!weight.rule.isContraction)
        lookups.insert(weight.op);
      ++places;
    }
    llvm::sort(ops, [&](Operation *a, Operation *b) {
      return application.getScopes().getPosition(a) <
             application.getScopes().getPosition(b);
    });
    if (failed(ExpertMasks(directive, application, sharding).run(ops, lookups)))
      return failure();
  }
  return places;
}
