//===- MoveReshards.cpp - Reshards where values are smallest --------------===//

#include "passes/spmd/MoveReshards.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::dist;

/// Arithmetic that costs next to nothing beside sending what it makes.
static bool isCheap(Operation *op) {
  return isa<arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp, arith::TruncFOp,
             arith::TruncIOp, arith::SIToFPOp, arith::UIToFPOp, arith::AddFOp,
             arith::SubFOp, arith::MulFOp, arith::NegFOp, arith::AddIOp,
             arith::SubIOp, arith::MulIOp, arith::ConstantOp>(op);
}

/// The tensor that `op` only moves to other places, repeats, pads, converts or
/// scales; null for other ops. To do that for more of it costs little more than
/// to write it.
static OpOperand *getMoved(Operation *op) {
  constexpr int64_t kMostOps = 4;
  if (auto pad = dyn_cast<tensor::PadOp>(op))
    return pad.getConstantPaddingValue() ? &pad.getSourceMutable() : nullptr;
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op) ||
      (isCheap(op) && op->getNumOperands() == 1))
    return &op->getOpOperand(0);
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp || linalgOp.getNumDpsInputs() != 1 ||
      op->getNumResults() != 1 ||
      linalgOp.getNumLoops() != linalgOp.getNumParallelLoops() ||
      !isFreeValue(linalgOp.getDpsInits()[0]))
    return nullptr;
  OpOperand *input = linalgOp.getDpsInputOperand(0);
  Block &body = *linalgOp.getBlock();
  if (!linalgOp.getMatchingBlockArgument(linalgOp.getDpsInitOperand(0))
           .use_empty() ||
      llvm::range_size(body) > kMostOps + 1 ||
      !llvm::all_of(body.without_terminator(),
                    [](Operation &nested) { return isCheap(&nested); }))
    return nullptr;
  return input;
}

int64_t mlir::dist::getLeastBytes(Value value) {
  constexpr int kMostSteps = 16;
  int64_t least = getTensorBytes(value.getType());
  for (int step = 0; step < kMostSteps && value.hasOneUse(); ++step) {
    Operation *op = value.getDefiningOp();
    OpOperand *moved = op ? getMoved(op) : nullptr;
    if (!moved || isFreeValue(moved->get()))
      break;
    value = moved->get();
    least = std::min(least, getTensorBytes(value.getType()));
  }
  return least;
}

namespace {
/// An op on the way up from a reshard.
struct Step {
  OpOperand *moved;
  /// What its result is to be, instead of being resharded after it.
  ShardingAttr result;
};

class Mover {
public:
  Mover(const MeshLayout &layout, PlacedValues &values, ReshardPlanner &planner)
      : layout(layout), values(values), planner(planner) {}

  void visit(ReshardOp reshard);

private:
  ShardingAttr placeOperand(OpOperand &operand, ShardingAttr result) const;

  const MeshLayout &layout;
  PlacedValues &values;
  ReshardPlanner &planner;
};
} // namespace

/// How the operand of an op that moves it must be placed for the result to be
/// as `result`; null where there is no such placement.
ShardingAttr Mover::placeOperand(OpOperand &operand,
                                 ShardingAttr result) const {
  ShardingRule rule = getShardingRule(operand.getOwner());
  SmallVector<DimShardingAttr> factors(rule.factors.size(), layout.none());
  for (auto [list, dim] :
       llvm::zip_equal(rule.results[0].dims, result.getDims()))
    for (auto [factor, part] :
         llvm::zip_equal(list, rule.splitDim(layout, list, dim))) {
      const Factor &known = rule.factors[factor];
      if (part == layout.none())
        continue;
      if (known.kind != FactorKind::Parallel ||
          (known.evenOnly && !layout.isEven(part, known.size)))
        return {};
      factors[factor] = part;
    }
  SmallVector<DimShardingAttr, 4> dims;
  if (!rule.joinDims(layout, rule.results[0], factors, dims) ||
      values.place(dims) != result ||
      !rule.joinDims(layout, rule.operands[operand.getOperandNumber()], factors,
                     dims))
    return {};
  return values.place(dims);
}

/// `source` placed as `wanted`, as something before `reshard` has it already.
static Value findCopy(Value source, ShardingAttr wanted, ReshardOp reshard) {
  for (Operation *user : source.getUsers())
    if (auto copy = dyn_cast<ReshardOp>(user);
        copy && copy.getSharding() == wanted &&
        copy->getBlock() == reshard->getBlock() &&
        copy->isBeforeInBlock(reshard))
      return copy.getResult();
  return {};
}

void Mover::visit(ReshardOp reshard) {
  ShardingAttr from = reshard.getSource(), to = reshard.getSharding();
  if (from.isPartial() || to.isPartial() || reshard->use_empty() ||
      values.isAskedFor(reshard.getResult()))
    return;
  auto getType = [](Value value) {
    return cast<RankedTensorType>(value.getType());
  };
  Value value = reshard.getOperand();
  // What sizes cost that nobody knows yet cannot be compared.
  if (!getType(value).hasStaticShape())
    return;
  int64_t least = planner.getCost(getType(value), from, to);
  SmallVector<Step> steps;
  size_t best = 0;
  while (least > 0 && value.hasOneUse() && !values.isAskedFor(value)) {
    Operation *op = value.getDefiningOp();
    OpOperand *moved = op ? getMoved(op) : nullptr;
    if (!moved || isFreeValue(moved->get()))
      break;
    steps.push_back({moved, to});
    to = placeOperand(*moved, to);
    value = moved->get();
    from = values.getPlacement(value);
    if (!to || !from || from.isPartial())
      break;
    int64_t cost = planner.getCost(getType(value), from, to);
    if (cost >= 0 && cost < least) {
      least = cost;
      best = steps.size();
    }
  }
  if (best == 0)
    return;
  const Step &top = steps[best - 1];
  OpBuilder builder(reshard);
  Value source = top.moved->get();
  ShardingAttr wanted = placeOperand(*top.moved, top.result);
  Value ready = findCopy(source, wanted, reshard);
  if (!ready) {
    ready = values.makeReshard(
        builder, reshard.getLoc(), source, values.getPlacement(source), wanted,
        reshard.getCause(), reshard->getAttr(kScopeAttr));
    // What comes later and is the same need not be made again.
    for (Operation *user : source.getUsers())
      if (auto copy = dyn_cast<ReshardOp>(user);
          copy && copy.getResult() != ready && copy.getSharding() == wanted &&
          copy->getBlock() == reshard->getBlock())
        copy.getResult().replaceAllUsesWith(ready);
  }
  for (const Step &step : llvm::reverse(ArrayRef(steps).take_front(best))) {
    IRMapping mapping;
    mapping.map(step.moved->get(), ready);
    Operation *op = builder.clone(*step.moved->getOwner(), mapping);
    // Where it is written is made as what is written.
    if (auto destination = dyn_cast<DestinationStyleOpInterface>(op))
      for (OpOperand &init : destination.getDpsInitsMutable())
        init.set(values.makeFree(init.get(), step.result));
    ready = op->getResult(0);
    values.setShardings(op, {step.result});
    values.setPlacement(ready, step.result);
  }
  reshard.getResult().replaceAllUsesWith(ready);
  reshard.erase();
  // Each was used by the next only.
  for (const Step &step : ArrayRef(steps).take_front(best))
    step.moved->getOwner()->erase();
}

void mlir::dist::moveReshards(FunctionOpInterface function,
                              const MeshLayout &layout, PlacedValues &values,
                              ReshardPlanner &planner) {
  SmallVector<ReshardOp> reshards;
  function->walk([&](ReshardOp reshard) { reshards.push_back(reshard); });
  for (ReshardOp reshard : reshards)
    Mover(layout, values, planner).visit(reshard);
}
