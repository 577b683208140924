//===- ExclusiveSums.cpp - Pending sums of one summand each ---------------===//
//
// Finds the rows of lookups, and how bodies map zeros.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/Interfaces/ExclusiveSums.h"
#include "dialects/dist/IR/Gradients.h"
#include "dialects/dist/IR/Schedule.h"
#include "dialects/dist/Interfaces/Reductions.h"
#include "dialects/dist/Utils/ByComputation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::dist;

//===----------------------------------------------------------------------===//
// The same rows
//===----------------------------------------------------------------------===//

/// The value without reshards, which do not change it.
static Value stripReshards(Value value) {
  while (auto reshard = value.getDefiningOp<ReshardOp>())
    value = reshard.getOperand();
  return value;
}

/// Whether each row of the one is on the device that has it of the other.
static bool areTogether(const ExclusiveSum &a, const ExclusiveSum &b) {
  return a.tableSize == b.tableSize && a.cut == b.cut &&
         areComputedAlike(a.indices, b.indices, stripReshards);
}

//===----------------------------------------------------------------------===//
// Zeros of zeros
//===----------------------------------------------------------------------===//

static bool isZero(Attribute value) {
  if (auto number = dyn_cast_or_null<FloatAttr>(value))
    return number.getValue().isZero();
  if (auto number = dyn_cast_or_null<IntegerAttr>(value))
    return number.getValue().isZero();
  return false;
}

namespace {
/// The known values of the scalars of a body while flagged operands are zero.
class Scalars {
public:
  void setZero(Value value) {
    Builder b(value.getContext());
    constants[value] = getNeutral(b, value.getType(), ReductionKind::Sum);
  }
  bool isZero(Value value) const { return ::isZero(getConstant(value)); }
  void visit(Operation &op);

private:
  Attribute getConstant(Value value) const {
    Attribute constant = constants.lookup(value);
    if (!constant)
      matchPattern(value, m_Constant(&constant));
    return constant;
  }
  /// Values that do not depend on the zeros are taken to be finite, as where a
  /// sum passes through a multiplication.
  bool isFinite(Value value) const {
    if (auto number = dyn_cast_or_null<FloatAttr>(getConstant(value)))
      return number.getValue().isFinite();
    return !doubtful.contains(value);
  }

  llvm::SmallDenseMap<Value, Attribute> constants;
  /// Values that may be infinite, or no number, because others are zero.
  llvm::SmallDenseSet<Value> doubtful;
  /// Values that depend on zeros, and are unknown.
  llvm::SmallDenseSet<Value> touched;
};
} // namespace

void Scalars::visit(Operation &op) {
  if (op.getNumResults() != 1 || op.getNumRegions() != 0) {
    doubtful.insert(op.result_begin(), op.result_end());
    return;
  }
  Value result = op.getResult(0);
  if (isa<arith::MulFOp, arith::MulIOp, arith::AndIOp>(op)) {
    Value left = op.getOperand(0), right = op.getOperand(1);
    if ((isZero(left) && isFinite(right)) || (isZero(right) && isFinite(left)))
      return setZero(result);
  }
  if (isa<arith::DivFOp>(op) && isZero(op.getOperand(0)) &&
      !getConstant(op.getOperand(1)) && isFinite(op.getOperand(1)))
    return setZero(result);
  if (auto select = dyn_cast<arith::SelectOp>(op))
    if (Attribute condition = getConstant(select.getCondition())) {
      Value chosen =
          ::isZero(condition) ? select.getFalseValue() : select.getTrueValue();
      if (Attribute constant = getConstant(chosen)) {
        constants[result] = constant;
        return;
      }
    }
  SmallVector<Attribute> operands;
  for (Value operand : op.getOperands())
    operands.push_back(getConstant(operand));
  // Folding may rewrite an op in place, using facts that hold only for these
  // zeros.
  Operation *copy = op.clone();
  SmallVector<OpFoldResult> folded;
  Attribute constant;
  if (succeeded(copy->fold(operands, folded)) && folded.size() == 1) {
    constant = dyn_cast<Attribute>(folded[0]);
    if (!constant)
      constant = getConstant(cast<Value>(folded[0]));
  }
  copy->destroy();
  if (constant) {
    constants[result] = constant;
    return;
  }
  // A value that is computed from no zeros is the same as on any device.
  if (llvm::none_of(op.getOperands(), [&](Value operand) {
        return constants.contains(operand) || doubtful.contains(operand) ||
               touched.contains(operand);
      }))
    return;
  touched.insert(result);
  bool isBounded =
      isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::NegFOp,
          arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
          arith::MinNumFOp, arith::SelectOp, arith::ExtFOp>(op) ||
      !isa<FloatType>(result.getType());
  if (!isBounded || !llvm::all_of(op.getOperands(), [&](Value operand) {
        return isFinite(operand);
      }))
    doubtful.insert(result);
}

/// Whether the body of `op` makes zeros where its flagged operands are zero,
/// and adds these, if it reduces.
static bool keepsZeros(linalg::LinalgOp op, ArrayRef<bool> flagged) {
  Block &body = op->getRegion(0).front();
  Scalars scalars;
  for (OpOperand *input : op.getDpsInputOperands())
    if (flagged[input->getOperandNumber()])
      scalars.setZero(op.getMatchingBlockArgument(input));
  for (Operation &scalar : body.without_terminator())
    scalars.visit(scalar);
  for (auto [init, yielded] : llvm::zip_equal(
           op.getDpsInitsMutable(), body.getTerminator()->getOperands())) {
    BlockArgument before = op.getMatchingBlockArgument(&init);
    if (before.use_empty()) {
      if (!scalars.isZero(yielded))
        return false;
      continue;
    }
    Operation *sum = yielded.getDefiningOp();
    if (!before.hasOneUse() ||
        !llvm::isa_and_nonnull<arith::AddFOp, arith::AddIOp>(sum))
      return false;
    Value other = sum->getOperand(0) == before   ? sum->getOperand(1)
                  : sum->getOperand(1) == before ? sum->getOperand(0)
                                                 : Value();
    if (!other || !scalars.isZero(other))
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// What passes
//===----------------------------------------------------------------------===//

std::optional<SmallVector<unsigned, 2>>
ExclusiveSums::findSlotFactors(Operation *op, const ShardingRule &rule,
                               ArrayRef<bool> flagged) const {
  if (op->getNumResults() != 1 || !rule.results[0].windows.empty())
    return std::nullopt;
  const ExclusiveSum *first = nullptr;
  SmallVector<unsigned, 2> factors;
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned number = operand.getOperandNumber();
    if (!flagged[number] || llvm::is_contained(rule.inits, number))
      continue;
    const ExclusiveSum *sum = get(operand.get());
    if (!sum || (first && !areTogether(*first, *sum)))
      return std::nullopt;
    for (auto [index, dim] : llvm::enumerate(sum->slots)) {
      ArrayRef<unsigned> list = rule.operands[number].dims[dim];
      if (list.size() != 1 || rule.operands[number].getWindow(dim) ||
          (first ? factors[index] != list[0]
                 : llvm::is_contained(factors, list[0])))
        return std::nullopt;
      if (!first)
        factors.push_back(list[0]);
    }
    first = sum;
  }
  if (!first)
    return std::nullopt;
  return factors;
}

bool ExclusiveSums::passes(Operation *op, const ShardingRule &rule,
                           ArrayRef<bool> flagged) const {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  return linalgOp && passesMasked(op, rule, flagged) &&
         keepsZeros(linalgOp, flagged);
}

bool ExclusiveSums::passesMasked(Operation *op, const ShardingRule &rule,
                                 ArrayRef<bool> flagged) const {
  return findSlotFactors(op, rule, flagged).has_value();
}

bool ExclusiveSums::settles(Operation *op, ArrayRef<bool> flagged,
                            ShardingAttr table) const {
  auto scatter = dyn_cast<ScatterAddOp>(op);
  if (!scatter || !table || scatter.getDims().size() != 1 || !flagged[0] ||
      llvm::count(flagged, true) != 1)
    return false;
  const ExclusiveSum *sum = get(scatter.getSource());
  if (!sum || !sum->cut)
    return false;
  int64_t dim = scatter.getDims()[0];
  ExclusiveSum rows{scatter.getIndices(),
                    scatter.getDest().getType().getDimSize(dim),
                    table.getDims()[dim],
                    {}};
  int64_t batch = scatter.getIndices().getType().getRank() - 1;
  return llvm::equal(sum->slots, llvm::seq<unsigned>(0, batch)) &&
         areTogether(*sum, rows);
}

/// Whether the op commutes with sums.
static bool isLinear(Operation *op, ArrayRef<bool> flagged) {
  auto iface = dyn_cast<ShardingRuleOpInterface>(op);
  return iface && iface.getPartialResult(flagged, ReductionKind::Sum) ==
                      PartialResult::Partial;
}

void ExclusiveSums::visit(Operation *op, const ShardingRule &rule,
                          ArrayRef<bool> flagged, DimShardingAttr cut) {
  if (auto gather = dyn_cast<tensor::GatherOp>(op); gather && cut) {
    ExclusiveSum sum{gather.getIndices(), 0, cut, {}};
    if (gather.getGatherDims().size() != 1 || llvm::is_contained(flagged, true))
      return;
    sum.tableSize =
        gather.getSourceType().getDimSize(gather.getGatherDims()[0]);
    for (int64_t i = 0; i + 1 < gather.getIndicesType().getRank(); ++i)
      sum.slots.push_back(i);
    sums[gather.getResult()] = std::move(sum);
    return;
  }
  std::optional<SmallVector<unsigned, 2>> factors =
      findSlotFactors(op, rule, flagged);
  if (!factors || (!isLinear(op, flagged) && !passes(op, rule, flagged)))
    return;
  // The accumulator is not a row.
  for (unsigned init : rule.inits)
    if (flagged[init])
      return;
  ExclusiveSum sum;
  for (OpOperand &operand : op->getOpOperands())
    if (flagged[operand.getOperandNumber()])
      sum = *get(operand.get());
  sum.slots.clear();
  for (unsigned factor : *factors) {
    const auto *dim =
        llvm::find_if(rule.results[0].dims, [&](ArrayRef<unsigned> list) {
          return list.size() == 1 && list[0] == factor;
        });
    if (dim == rule.results[0].dims.end())
      return;
    sum.slots.push_back(dim - rule.results[0].dims.begin());
  }
  sums[op->getResult(0)] = std::move(sum);
}

void ExclusiveSums::visit(Operation *op, const ShardingRule &rule,
                          function_ref<ShardingAttr(Value)> getPlacement) {
  if (op->getNumResults() != 1 ||
      !isa<RankedTensorType>(op->getResult(0).getType()))
    return;
  ShardingAttr made = getPlacement(op->getResult(0));
  if (!made || !made.isPartial() || made.getPartialKind() != ReductionKind::Sum)
    return;
  SmallVector<bool> flagged;
  for (Value operand : op->getOperands()) {
    ShardingAttr now = isa<RankedTensorType>(operand.getType())
                           ? getPlacement(operand)
                           : ShardingAttr();
    flagged.push_back(now && now.isPartial());
    // A factor of this op's own, or an accumulator, leaves sums of several.
    if (flagged.back() && now.getPartialAxes() != made.getPartialAxes())
      return;
  }
  DimShardingAttr cut;
  if (auto gather = dyn_cast<tensor::GatherOp>(op))
    if (ShardingAttr table = getPlacement(gather.getSource());
        table && gather.getGatherDims().size() == 1)
      cut = table.getDims()[gather.getGatherDims()[0]];
  visit(op, rule, flagged, cut);
}

void ExclusiveSums::copy(Value from, Value to) {
  if (const ExclusiveSum *sum = get(from)) {
    ExclusiveSum same = *sum;
    sums[to] = std::move(same);
  }
}

//===----------------------------------------------------------------------===//
// Looking ahead
//===----------------------------------------------------------------------===//

/// Whether an op is one of the program's that compute, rather than one that
/// places a value.
static bool isComputing(Operation *op) {
  return op->getNumResults() == 1 && isa<ShardingRuleOpInterface>(op) &&
         !isa<ShardingConstraintOp, SyncOp, ReshardOp>(op) &&
         isa<RankedTensorType>(op->getResult(0).getType());
}

/// Whether an op is a constraint that leaves the value pending.
static bool leavesPending(Operation *op) {
  auto constraint = dyn_cast<ShardingConstraintOp>(op);
  return constraint && constraint.getSharding().isPartial();
}

bool ExclusiveSums::expect(Value value, GetRule getRule,
                           function_ref<ShardingAttr(Value)> getTarget,
                           unsigned depth) {
  if (get(value))
    return true;
  Operation *op = value.getDefiningOp();
  if (!op || !isComputing(op) || depth == 0)
    return false;
  if (auto gather = dyn_cast<tensor::GatherOp>(op)) {
    ShardingAttr table = getTarget(gather.getSource());
    if (!table || gather.getGatherDims().size() != 1)
      return false;
    DimShardingAttr cut = table.getDims()[gather.getGatherDims()[0]];
    if (!cut.isReplicated())
      visit(op, getRule(op), SmallVector<bool>(op->getNumOperands()), cut);
    return get(value);
  }
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (linalgOp ? linalgOp.getNumDpsInputs() != 1 : op->getNumOperands() != 1)
    return false;
  SmallVector<bool> flagged(op->getNumOperands());
  flagged[0] = expect(op->getOperand(0), getRule, getTarget, depth - 1);
  if (flagged[0])
    visit(op, getRule(op), flagged);
  return get(value);
}

bool ExclusiveSums::isBestLeftPending(
    Value value, GetRule getRule, function_ref<bool(Operation *)> counts,
    function_ref<ShardingAttr(Value)> getTarget) const {
  constexpr unsigned kMostOps = 128, kMostBehindLookup = 4;
  if (!get(value))
    return false;
  ExclusiveSums ahead;
  ahead.before = this;
  // The pending values, and whether a reader needs one complete.
  llvm::MapVector<Value, bool> pending;
  pending[value] = false;
  SmallVector<Operation *> users;
  for (Operation *user : llvm::make_filter_range(value.getUsers(), counts)) {
    if (user->getBlock() != value.getParentBlock())
      return false;
    users.push_back(user);
  }
  llvm::SmallPtrSet<Operation *, 16> done;
  // What would be completed if the value were.
  llvm::SmallDenseSet<Value> completed{value};
  int64_t completedBytes = getTensorBytes(value.getType());
  while (!users.empty()) {
    auto *earliest = llvm::min_element(
        users, [](auto *a, auto *b) { return a->isBeforeInBlock(b); });
    Operation *op = *earliest;
    users.erase(earliest);
    if (!done.insert(op).second)
      continue;
    if (done.size() > kMostOps)
      return false;
    SmallVector<bool> flagged;
    for (Value operand : op->getOperands())
      flagged.push_back(
          pending.contains(operand) ||
          ahead.expect(operand, getRule, getTarget, kMostBehindLookup));
    if (op->getNumResults() == 1 &&
        ahead.settles(op, flagged, getTarget(op->getResult(0))))
      continue;
    bool isPassed = leavesPending(op);
    if (isPassed) {
      ahead.copy(op->getOperand(0), op->getResult(0));
    } else if (isComputing(op)) {
      const ShardingRule &rule = getRule(op);
      isPassed = isLinear(op, flagged) || ahead.passes(op, rule, flagged);
      if (isPassed)
        ahead.visit(op, rule, flagged);
      // Other sums that pass only together with this one.
      SmallVector<bool> others(flagged);
      for (auto [operand, isOther] : llvm::zip_equal(op->getOperands(), others))
        isOther &= !pending.contains(operand);
      if (isPassed && llvm::is_contained(others, true) &&
          !isLinear(op, others) && !ahead.passes(op, rule, others))
        for (auto [operand, isOther] :
             llvm::zip_equal(op->getOperands(), others))
          if (isOther && completed.insert(operand).second)
            completedBytes += getTensorBytes(operand.getType());
    }
    for (Value operand : op->getOperands())
      if (auto found = pending.find(operand); found != pending.end())
        found->second |= !isPassed;
    if (!isPassed)
      continue;
    Value result = op->getResult(0);
    pending[result] = false;
    for (Operation *user : llvm::make_filter_range(result.getUsers(), counts)) {
      if (user->getBlock() != op->getBlock())
        pending[result] = true;
      else
        users.push_back(user);
    }
  }
  int64_t bytes = 0;
  for (auto &[left, isNeeded] : pending)
    bytes += isNeeded ? getTensorBytes(left.getType()) : 0;
  return bytes < completedBytes;
}
