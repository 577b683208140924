//===- Lookups.cpp - Inputs that name rows of tables ----------------------===//

#include "passes/train/Lookups.h"
#include "dialects/dist/IR/Attributes.h"
#include "dialects/dist/IR/Dist.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
/// A number that an argument's elements become where they are looked up.
struct Place {
  Value value;
  /// Negative ones count from the end of the dimension.
  bool fromEnd = false;
};
} // namespace

/// The value whose integers `value` has; null if they may be others.
static Value skipCast(Value value) {
  Operation *op = value.getDefiningOp();
  return isa_and_present<arith::IndexCastOp, arith::ExtSIOp>(op)
             ? op->getOperand(0)
             : Value();
}

/// x of `x < 0 ? x + size : x`, whatever the order of the sum; null if it is
/// not that.
static Value skipCountFromEnd(Value value, int64_t size) {
  auto select = value.getDefiningOp<arith::SelectOp>();
  if (!select)
    return nullptr;
  Value x = select.getFalseValue();
  auto compare = select.getCondition().getDefiningOp<arith::CmpIOp>();
  auto sum = select.getTrueValue().getDefiningOp<arith::AddIOp>();
  if (!compare || !sum || compare.getPredicate() != arith::CmpIPredicate::slt ||
      compare.getLhs() != x || !matchPattern(compare.getRhs(), m_Zero()))
    return nullptr;
  Value added = sum.getLhs() == x ? sum.getRhs() : sum.getLhs();
  APInt number;
  bool isSum = sum.getLhs() == x || sum.getRhs() == x;
  return isSum && matchPattern(added, m_ConstantInt(&number)) &&
                 number.getSExtValue() == size
             ? x
             : Value();
}

/// The tensor whose elements those of an elementwise or moving op are; null
/// where they may be others.
static Place skipBody(linalg::LinalgOp op, int64_t size) {
  if (op.getNumDpsInits() != 1 || op.getNumParallelLoops() != op.getNumLoops())
    return {};
  Place place{op.getBlock()->getTerminator()->getOperand(0)};
  while (!isa<BlockArgument>(place.value)) {
    Value next = skipCast(place.value);
    if (!next && !place.fromEnd) {
      next = skipCountFromEnd(place.value, size);
      place.fromEnd = static_cast<bool>(next);
    }
    if (!next)
      return {};
    place.value = next;
  }
  auto argument = cast<BlockArgument>(place.value);
  if (argument.getOwner() != op.getBlock() ||
      argument.getArgNumber() >= op.getNumDpsInputs())
    return {};
  OpOperand *input = op.getDpsInputOperand(argument.getArgNumber());
  // All elements of it.
  if (!op.getMatchingIndexingMap(input).isProjectedPermutation())
    return {};
  place.value = input->get();
  return place;
}

/// Follows the places in a dimension of `size` back to an argument.
static Place findArgument(Value value, int64_t size) {
  Place place{value};
  while (Operation *op = place.value.getDefiningOp()) {
    if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp,
            arith::IndexCastOp, arith::ExtSIOp>(op)) {
      place.value = op->getOperand(0);
      continue;
    }
    auto structured = dyn_cast<linalg::LinalgOp>(op);
    Place inner = structured ? skipBody(structured, size) : Place();
    if (!inner.value || (place.fromEnd && inner.fromEnd))
      return {};
    inner.fromEnd |= place.fromEnd;
    place = inner;
  }
  return place;
}

/// The ops of the block that the values are made of.
static llvm::SmallPtrSet<Operation *, 32> findMakers(Block &block,
                                                     ArrayRef<Value> values) {
  llvm::SmallPtrSet<Operation *, 32> makers;
  SmallVector<Operation *> open;
  auto add = [&](Value value) {
    Operation *op = value.getDefiningOp();
    if (op && op->getBlock() == &block && makers.insert(op).second)
      open.push_back(op);
  };
  for (Value value : values)
    add(value);
  while (!open.empty())
    open.pop_back_val()->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        add(operand);
    });
  return makers;
}

void mlir::dist::markLookups(func::FuncOp function, ArrayRef<Value> results) {
  Builder builder(function.getContext());
  Block &body = function.getBody().front();
  auto makers = findMakers(body, results);
  for (auto gather : body.getOps<tensor::GatherOp>()) {
    if (!makers.contains(gather) || gather.getGatherDims().size() != 1)
      continue;
    int64_t size =
        gather.getSourceType().getDimSize(gather.getGatherDims().front());
    if (ShapedType::isDynamic(size))
      continue;
    Place place = findArgument(gather.getIndices(), size);
    auto argument = dyn_cast_if_present<BlockArgument>(place.value);
    if (!argument || argument.getOwner() != &function.getBody().front() ||
        !function.getArgAttr(argument.getArgNumber(), kInputAttr) ||
        function.getArgAttr(argument.getArgNumber(), kUnsignedAttr))
      continue;
    unsigned number = argument.getArgNumber();
    int64_t low = place.fromEnd ? -size : 0, high = size - 1;
    // Several lookups: what all of them take.
    if (auto other =
            function.getArgAttrOfType<DenseI64ArrayAttr>(number, kRangeAttr)) {
      low = std::max(low, other[0]);
      high = std::min(high, other[1]);
    }
    function.setArgAttr(number, kRangeAttr,
                        builder.getDenseI64ArrayAttr({low, high}));
  }
}
