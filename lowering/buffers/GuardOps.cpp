//===- GuardOps.cpp - What has no result ends the run with a message ------===//
//
// --dist-guard-ops: integer divisions and elements at computed indices, each
// with a check where it is not proved that it has a result.
//
//===----------------------------------------------------------------------===//

#include "lowering/buffers/Checks.h"
#include "lowering/buffers/Passes.h"
#include "lowering/rt/Rt.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"

namespace mlir::dist {
#define GEN_PASS_DEF_DISTGUARDOPS
#include "lowering/buffers/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {

/// Ranges of scalars: from loops, and by upstream's interface from operands.
class Ranges {
public:
  ConstantIntRanges of(Value value) { return find(value, /*depth=*/0); }

private:
  /// Steps back; what is further away may be any number.
  static constexpr unsigned kMaxDepth = 32;

  static ConstantIntRanges fromExtent(Value value, int64_t first,
                                      int64_t extent) {
    unsigned width = ConstantIntRanges::getStorageBitwidth(value.getType());
    return ConstantIntRanges::fromSigned(
        APInt(width, first, /*isSigned=*/true),
        APInt(width, first + std::max<int64_t>(extent, 1) - 1,
              /*isSigned=*/true));
  }

  ConstantIntRanges find(Value value, unsigned depth) {
    auto known = ranges.find(value);
    if (known != ranges.end())
      return known->second;
    ConstantIntRanges range = compute(value, depth);
    ranges.try_emplace(value, range);
    return range;
  }

  ConstantIntRanges compute(Value value, unsigned depth) {
    auto any = ConstantIntRanges::maxRange(
        ConstantIntRanges::getStorageBitwidth(value.getType()));
    if (depth > kMaxDepth)
      return any;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
      if (!loop || argument != loop.getInductionVar())
        return any;
      std::optional<int64_t> from = getConstantIntValue(loop.getLowerBound());
      std::optional<int64_t> to = getConstantIntValue(loop.getUpperBound());
      return from && to ? fromExtent(value, *from, *to - *from) : any;
    }
    Operation *op = value.getDefiningOp();
    if (auto index = dyn_cast<linalg::IndexOp>(op)) {
      auto parent = op->getParentOfType<linalg::LinalgOp>();
      int64_t extent = parent.getStaticLoopRanges()[index.getDim()];
      return ShapedType::isDynamic(extent) ? any : fromExtent(value, 0, extent);
    }
    if (auto size = op->getAttrOfType<IntegerAttr>(rt::kGroupSizeAttr))
      return fromExtent(value, 0, size.getInt());
    auto inferring = dyn_cast<InferIntRangeInterface>(op);
    if (!inferring)
      return any;
    SmallVector<ConstantIntRanges> operands;
    for (Value operand : op->getOperands()) {
      if (!operand.getType().isIntOrIndex())
        return any;
      operands.push_back(find(operand, depth + 1));
    }
    ConstantIntRanges found = any;
    inferring.inferResultRanges(
        operands, [&](Value result, const ConstantIntRanges &range) {
          if (result == value)
            found = range;
        });
    return found;
  }

  DenseMap<Value, ConstantIntRanges> ranges;
};

class Guard {
public:
  explicit Guard(func::FuncOp function)
      : function(function), builder(function.getContext()) {}

  void visit(Operation *op) {
    if (isa<arith::DivSIOp, arith::RemSIOp, arith::FloorDivSIOp,
            arith::CeilDivSIOp>(op))
      return guardDivisor(op, /*isSigned=*/true);
    if (isa<arith::DivUIOp, arith::RemUIOp, arith::CeilDivUIOp>(op))
      return guardDivisor(op, /*isSigned=*/false);
    if (auto power = dyn_cast<math::IPowIOp>(op))
      return guardPower(power);
    if (auto extract = dyn_cast<tensor::ExtractOp>(op))
      return guardIndices(op, extract.getTensor().getType(),
                          extract.getIndicesMutable());
    if (auto insert = dyn_cast<tensor::InsertOp>(op))
      return guardIndices(op, insert.getDest().getType(),
                          insert.getIndicesMutable());
    if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
      return guardOffsets(slice, slice.getSourceType());
    if (auto slice = dyn_cast<tensor::InsertSliceOp>(op))
      return guardOffsets(slice, slice.getDestType());
  }

private:
  Value getStatus() {
    if (!status)
      status = createStatus(builder, function);
    return status;
  }

  /// Where `bad` holds the run ends with the message; `operand` is `safe` then.
  void guard(Operation *op, OpOperand &operand, Value bad, int64_t safe,
             const Twine &message, Value judged = {}) {
    Location loc = op->getLoc();
    Value words = getStatus();
    builder.setInsertionPoint(op);
    createFailIf(builder, loc, bad, words,
                 (describePlace(loc) + ": " + message).str(), judged);
    Value number = arith::ConstantOp::create(
        builder, loc, builder.getIntegerAttr(operand.get().getType(), safe));
    operand.set(
        arith::SelectOp::create(builder, loc, bad, number, operand.get()));
    createCheckInLoop(builder, op);
  }

  Value compare(Location loc, arith::CmpIPredicate predicate, Value value,
                const APInt &number) {
    Value constant = arith::ConstantOp::create(
        builder, loc, builder.getIntegerAttr(value.getType(), number));
    return arith::CmpIOp::create(builder, loc, predicate, value, constant);
  }

  void guardDivisor(Operation *op, bool isSigned) {
    OpOperand &divisor = op->getOpOperand(1);
    // Tensors are divided in bodies, by now.
    if (!divisor.get().getType().isIntOrIndex())
      return;
    ConstantIntRanges range = ranges.of(divisor.get());
    Location loc = op->getLoc();
    unsigned width = range.umin().getBitWidth();
    std::string name = op->getName().getStringRef().str();
    if (isSigned && width > 1) {
      ConstantIntRanges dividend = ranges.of(op->getOperand(0));
      APInt least = APInt::getSignedMinValue(width);
      if (range.smin().sle(-1) && range.smax().sge(-1) &&
          dividend.smin() == least) {
        builder.setInsertionPoint(op);
        Value isLeast =
            compare(loc, arith::CmpIPredicate::eq, op->getOperand(0), least);
        Value isMinusOne = compare(loc, arith::CmpIPredicate::eq, divisor.get(),
                                   APInt::getAllOnes(width));
        Value bad = arith::AndIOp::create(builder, loc, isLeast, isMinusOne);
        guard(op, divisor, bad, 1,
              name + " divides the smallest integer by -1, which overflows");
      }
    }
    if (range.umin().isZero()) {
      builder.setInsertionPoint(op);
      Value bad = compare(loc, arith::CmpIPredicate::eq, divisor.get(),
                          APInt::getZero(width));
      guard(op, divisor, bad, 1, name + " divides by zero");
    }
  }

  /// 0 to a negative power divides by zero.
  void guardPower(math::IPowIOp op) {
    if (!op.getType().isIntOrIndex())
      return;
    ConstantIntRanges base = ranges.of(op.getLhs());
    ConstantIntRanges exponent = ranges.of(op.getRhs());
    if (!base.umin().isZero() || exponent.smin().isNonNegative())
      return;
    Location loc = op.getLoc();
    APInt zero = APInt::getZero(base.umin().getBitWidth());
    builder.setInsertionPoint(op);
    Value isZero = compare(loc, arith::CmpIPredicate::eq, op.getLhs(), zero);
    Value isNegative =
        compare(loc, arith::CmpIPredicate::slt, op.getRhs(), zero);
    Value bad = arith::AndIOp::create(builder, loc, isZero, isNegative);
    guard(op, op.getRhsMutable(), bad, 1,
          "math.ipowi raises zero to a negative power");
  }

  void guardIndices(Operation *op, RankedTensorType type,
                    MutableOperandRange indices) {
    if (op->hasAttr(kGuardedAttr)) {
      op->removeAttr(kGuardedAttr);
      return;
    }
    std::string message =
        ("an index of " + op->getName().getStringRef() +
         " is out of range: coordinates must be at least 0 and less than " +
         printExtents(type.getShape()))
            .str();
    for (auto [operand, size] : llvm::zip_equal(indices, type.getShape())) {
      ConstantIntRanges range = ranges.of(operand.get());
      if (ShapedType::isDynamic(size) || range.umax().ult(size))
        continue;
      builder.setInsertionPoint(op);
      // Unsigned: a negative index is too large.
      Value bad = compare(op->getLoc(), arith::CmpIPredicate::uge,
                          operand.get(), APInt(64, size));
      guard(op, operand, bad, 0, message, operand.get());
    }
  }

  /// A slice at a computed place lies within the tensor.
  void guardOffsets(OffsetSizeAndStrideOpInterface slice,
                    RankedTensorType type) {
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      int64_t size = slice.getStaticSizes()[dim];
      int64_t stride = slice.getStaticStrides()[dim];
      if (!slice.isDynamicOffset(dim) || type.isDynamicDim(dim) || size == 0 ||
          ShapedType::isDynamic(size) || ShapedType::isDynamic(stride))
        continue;
      OpOperand &offset =
          slice->getOpOperand(slice.getIndexOfDynamicOffset(dim));
      // Offsets below this are in range.
      int64_t end = type.getDimSize(dim) - (size - 1) * stride;
      if (end < 1 || ranges.of(offset.get()).umax().ult(end))
        continue;
      builder.setInsertionPoint(slice);
      Value bad = compare(slice->getLoc(), arith::CmpIPredicate::uge,
                          offset.get(), APInt(64, end));
      guard(slice, offset, bad, 0,
            slice->getName().getStringRef() + " of " + Twine(size) +
                " elements in dimension " + Twine(dim) + " of " +
                Twine(type.getDimSize(dim)) +
                " is out of range: it must begin at 0 to " + Twine(end - 1),
            offset.get());
    }
  }

  func::FuncOp function;
  OpBuilder builder;
  Ranges ranges;
  Value status;
};

struct GuardOps : dist::impl::DistGuardOpsBase<GuardOps> {
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) { ops.push_back(op); });
    Guard guard(getOperation());
    for (Operation *op : ops)
      guard.visit(op);
  }
};

} // namespace
