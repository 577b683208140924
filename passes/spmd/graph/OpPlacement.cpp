//===- OpPlacement.cpp - Whether an op can be placed like this ------------===//

#include "passes/spmd/graph/OpPlacement.h"
#include "passes/spmd/graph/PendingReductions.h"
#include "passes/spmd/graph/PlacementText.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
class OpVerifier {
public:
  OpVerifier(Operation *op, const ShardingRule &rule, const MeshLayout &layout,
             ArrayRef<ShardingAttr> shardings)
      : op(op), rule(rule), layout(layout), shardings(shardings),
        factors(rule.factors.size(), layout.none()) {}

  LogicalResult verifyFactors();
  LogicalResult verifyPending(const ExclusiveSums &exclusive);

private:
  const TensorRule &getRule(unsigned index) const {
    return index < rule.operands.size()
               ? rule.operands[index]
               : rule.results[index - rule.operands.size()];
  }
  std::string getName(unsigned index) const {
    return index < op->getNumOperands()
               ? "operand " + std::to_string(index)
               : "result " + std::to_string(index - op->getNumOperands());
  }
  ShardingAttr get(OpOperand &operand) const {
    return shardings[operand.getOperandNumber()];
  }
  ShardingAttr get(OpResult result) const {
    return shardings[op->getNumOperands() + result.getResultNumber()];
  }

  Operation *op;
  const ShardingRule &rule;
  const MeshLayout &layout;
  ArrayRef<ShardingAttr> shardings;
  /// The sharding of each factor in the placements.
  SmallVector<DimShardingAttr, 8> factors;
};
} // namespace

LogicalResult OpVerifier::verifyFactors() {
  constexpr unsigned kNone = ~0u;
  // The tensor from which the sharding of each factor was read.
  SmallVector<unsigned, 8> origins(rule.factors.size(), kNone);
  // Dimensions of one factor tell it directly; others are used if there are no
  // such dimensions.
  for (bool isProduct : {false, true})
    for (auto [index, sharding] : llvm::enumerate(shardings)) {
      if (!sharding)
        continue;
      for (auto [list, dim] :
           llvm::zip_equal(getRule(index).dims, sharding.getDims())) {
        if (list.empty() || isProduct != (list.size() > 1) ||
            llvm::all_of(list, [&](unsigned f) { return origins[f] != kNone; }))
          continue;
        for (auto [factor, part] :
             llvm::zip_equal(list, rule.splitDim(layout, list, dim)))
          if (origins[factor] == kNone) {
            factors[factor] = part;
            origins[factor] = index;
          }
      }
    }

  SmallVector<AxisRefAttr, 4> used;
  for (auto [index, factor] : llvm::enumerate(rule.factors)) {
    if (factors[index] == layout.none())
      continue;
    unsigned origin = origins[index];
    auto refuse = [&](const Twine &why) -> LogicalResult {
      return op->emitOpError() << getName(origin) << " is placed as "
                               << shardings[origin] << ", but " << why.str();
    };
    if (factor.kind == FactorKind::Replicated)
      return refuse("the op needs the dimension that is sharded over " +
                    printAxes(factors[index].getAllAxes()) + " whole");
    bool isEvenOnly =
        factor.evenOnly ||
        (factor.kind == FactorKind::Reduction && !rule.masksPadding);
    if (isEvenOnly && !layout.isEven(factors[index], factor.size))
      return refuse("a dimension of " + Twine(factor.size) +
                    " that is sharded over " +
                    printAxes(factors[index].getAllAxes()) +
                    " has padding, which the op does not keep apart");
    if (!factor.accepts(layout, factors[index]))
      return refuse("the op reads windows of a dimension that is interleaved");
    SmallVector<AxisRefAttr> axes = factors[index].getAllAxes();
    if (anyOverlap(axes, used))
      return refuse(printAxes(axes) +
                    " shards another dimension of the op as well");
    used.append(axes.begin(), axes.end());
  }

  for (auto [index, sharding] : llvm::enumerate(shardings)) {
    if (!sharding)
      continue;
    for (auto [dim, list] : llvm::enumerate(getRule(index).dims)) {
      DimShardingAttr wanted = rule.joinDim(layout, list, factors);
      if (wanted == sharding.getDims()[dim])
        continue;
      InFlightDiagnostic error =
          op->emitOpError() << getName(index) << " is placed as " << sharding;
      for (unsigned factor : list)
        if (origins[factor] != index) {
          error << ", which does not agree with " << getName(origins[factor])
                << " placed as " << shardings[origins[factor]];
          break;
        }
      return error << ": dimension " << dim << " would have to be "
                   << (wanted ? printDim(wanted) : "unsharded")
                   << "; a dist.reshard is missing";
    }
  }
  return success();
}

LogicalResult OpVerifier::verifyPending(const ExclusiveSums &exclusive) {
  SmallVector<AxisRefAttr, 2> passed;
  SmallVector<bool, 8> isPassed(op->getNumOperands(), false);
  ReductionKind kind = ReductionKind::Sum;
  auto isInit = [&](unsigned operand) {
    return llvm::is_contained(rule.inits, operand);
  };
  bool any = false;
  for (OpOperand &operand : op->getOpOperands()) {
    ShardingAttr now = get(operand);
    if (!now || !now.isPartial())
      continue;
    isPassed[operand.getOperandNumber()] = true;
    if (any || isInit(operand.getOperandNumber()))
      continue;
    any = true;
    kind = now.getPartialKind();
    passed.assign(now.getPartialAxes().begin(), now.getPartialAxes().end());
  }
  // An accumulator alone may be pending, too.
  for (OpResult result : op->getResults()) {
    ShardingAttr now = get(result);
    if (any || !llvm::is_contained(isPassed, true) || !now || !now.isPartial())
      continue;
    Reduced reduced =
        getReduced(layout, rule, factors, result.getResultNumber());
    if (reduced.axes.empty()) {
      kind = now.getPartialKind();
      passed.assign(now.getPartialAxes().begin(), now.getPartialAxes().end());
      any = true;
    }
  }
  // An accumulator may be pending over other axes.
  SmallVector<bool, 8> isAdded = isPassed;
  for (unsigned init : rule.inits)
    isAdded[init] = false;
  bool isSettled = any && kind == ReductionKind::Sum &&
                   op->getNumResults() == 1 &&
                   exclusive.settles(op, isAdded, get(op->getResult(0)));
  for (OpResult result : op->getResults()) {
    ShardingAttr now = get(result);
    if (!now)
      continue;
    Reduced reduced =
        getReduced(layout, rule, factors, result.getResultNumber());
    ReductionKind wantedKind = reduced.axes.empty() ? kind : reduced.kind;
    if (!isSettled)
      addPending(layout, reduced.axes, passed);
    if (now.getPartialAxes() == ArrayRef(reduced.axes) &&
        (!now.isPartial() || now.getPartialKind() == wantedKind) &&
        (passed.empty() || wantedKind == kind))
      continue;
    InFlightDiagnostic error = op->emitOpError()
                               << "result " << result.getResultNumber()
                               << " is placed as " << now << ", but ";
    if (reduced.axes.empty())
      return error << "nothing leaves a reduction pending in it";
    return error << "a " << stringifyReductionKind(wantedKind) << " over "
                 << printAxes(reduced.axes) << " is pending in it";
  }
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned number = operand.getOperandNumber();
    ShardingAttr now = get(operand);
    if (!now)
      continue;
    if (isInit(number) && op->getNumResults() != 0) {
      ShardingAttr result =
          get(op->getResult(rule.getResultOfInit(op, number)));
      bool isAlike =
          result && now.getPartialAxes() == result.getPartialAxes() &&
          (!now.isPartial() || now.getPartialKind() == result.getPartialKind());
      bool isNothing =
          result && isNeutral(operand.get(), result.getPartialKind()) &&
          (!now.isPartial() || now.getPartialAxes() == ArrayRef(passed));
      if (!isAlike && !isNothing)
        return op->emitOpError()
               << "accumulates onto operand " << number << " placed as " << now
               << ", which every device adds to a result placed as " << result;
      continue;
    }
    if (now.isPartial() && (now.getPartialKind() != kind ||
                            now.getPartialAxes() != ArrayRef(passed)))
      return op->emitOpError()
             << "operand " << number << " is placed as " << now << ", but a "
             << stringifyReductionKind(kind) << " over " << printAxes(passed)
             << " is pending in another";
  }
  if (passed.empty() || isSettled)
    return success();
  auto iface = dyn_cast<ShardingRuleOpInterface>(op);
  if (iface && iface.getPartialResult(isPassed, kind) == PartialResult::Partial)
    return success();
  if (kind == ReductionKind::Sum && exclusive.passes(op, rule, isPassed))
    return success();
  unsigned first = llvm::find(isPassed, true) - isPassed.begin();
  return op->emitOpError() << "operand " << first << " is placed as "
                           << shardings[first]
                           << ", but the op does not commute with a "
                           << stringifyReductionKind(kind)
                           << "; it must be completed before";
}

LogicalResult mlir::dist::verifyOpPlacement(Operation *op,
                                            const ShardingRule &rule,
                                            const MeshLayout &layout,
                                            ArrayRef<ShardingAttr> shardings,
                                            const ExclusiveSums &exclusive) {
  OpVerifier verifier(op, rule, layout, shardings);
  return failure(failed(verifier.verifyFactors()) ||
                 failed(verifier.verifyPending(exclusive)));
}
