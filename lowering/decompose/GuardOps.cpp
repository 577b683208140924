//===- GuardOps.cpp - What has no result ends the run with a message ------===//
//
// --dist-guard-ops: integer divisions, shifts, and elements at computed
// indices, each with a check unless it is proved to have a result.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/Utils/Program.h"
#include "lowering/bounds/Bounds.h"
#include "lowering/buffers/RuntimeChecks.h"
#include "lowering/decompose/Passes.h"
#include "lowering/rt/Rt.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

namespace mlir::dist {
#define GEN_PASS_DEF_DISTGUARDOPS
#include "lowering/decompose/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {

/// Ranges of scalars: from loops, and by upstream's interface from operands.
class Ranges {
public:
  ConstantIntRanges of(Value value) { return find(value, /*depth=*/0); }

private:
  static ConstantIntRanges fromExtent(Value value, int64_t first,
                                      int64_t extent) {
    unsigned width = ConstantIntRanges::getStorageBitwidth(value.getType());
    return ConstantIntRanges::fromSigned(
        APInt(width, first, /*isSigned=*/true),
        APInt(width, first + std::max<int64_t>(extent, 1) - 1,
              /*isSigned=*/true));
  }

  /// The induction variable of a loop whose last step does not overflow.
  static ConstantIntRanges findInduction(scf::ForOp loop,
                                         ConstantIntRanges any) {
    std::optional<int64_t> from = getConstantIntValue(loop.getLowerBound());
    std::optional<int64_t> to = getConstantIntValue(loop.getUpperBound());
    std::optional<int64_t> step = getConstantIntValue(loop.getStep());
    unsigned width = any.umin().getBitWidth();
    int64_t extent, end;
    if (!from || !to || !step || *step < 1 || loop.getUnsignedCmp() ||
        llvm::SubOverflow(*to, *from, extent) ||
        llvm::AddOverflow(*to, *step - 1, end) || !llvm::isIntN(width, end))
      return any;
    return fromExtent(loop.getInductionVar(), *from, extent);
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
    if (depth > kMostRangeSteps)
      return any;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
      if (!loop || argument != loop.getInductionVar())
        return any;
      return findInduction(loop, any);
    }
    Operation *op = value.getDefiningOp();
    if (auto index = dyn_cast<linalg::IndexOp>(op)) {
      auto parent = op->getParentOfType<linalg::LinalgOp>();
      int64_t extent = parent.getStaticLoopRanges()[index.getDim()];
      return ShapedType::isDynamic(extent) ? any : fromExtent(value, 0, extent);
    }
    if (isa<rt::CommIndexOp>(op))
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
            arith::CeilDivSIOp, index::DivSOp, index::RemSOp,
            index::FloorDivSOp, index::CeilDivSOp>(op))
      return guardDivisor(op, /*isSigned=*/true);
    if (isa<arith::DivUIOp, arith::RemUIOp, arith::CeilDivUIOp, index::DivUOp,
            index::RemUOp, index::CeilDivUOp>(op))
      return guardDivisor(op, /*isSigned=*/false);
    if (isa<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp, index::ShlOp,
            index::ShrSOp, index::ShrUOp>(op))
      return guardShift(op);
    if (auto power = dyn_cast<math::IPowIOp>(op))
      return guardPower(power);
    if (auto extract = dyn_cast<tensor::ExtractOp>(op))
      return guardIndices(op, extract.getTensor().getType(),
                          extract.getIndicesMutable());
    if (auto insert = dyn_cast<tensor::InsertOp>(op))
      return guardIndices(op, insert.getDest().getType(),
                          insert.getIndicesMutable());
    if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
      return guardOffsets(slice, slice.getOffsetsMutable(),
                          slice.getSourceType());
    if (auto slice = dyn_cast<tensor::InsertSliceOp>(op))
      return guardOffsets(slice, slice.getOffsetsMutable(),
                          slice.getDestType());
    if (auto slice = dyn_cast<tensor::ParallelInsertSliceOp>(op))
      return guardOffsets(slice, slice.getOffsetsMutable(),
                          slice.getDestType());
    if (auto loop = dyn_cast<LoopLikeOpInterface>(op))
      return guardSteps(loop);
  }

private:
  /// Before `op`, or before the region of those that may stand nowhere else.
  void setInsertionPoint(Operation *op) {
    if (auto parallel = op->getParentOfType<scf::InParallelOp>())
      op = parallel;
    builder.setInsertionPoint(op);
  }

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
    setInsertionPoint(op);
    createFailIf(builder, loc, bad, words,
                 (describePlace(loc) + ": " + message).str(), judged);
    Value number = arith::ConstantOp::create(
        builder, loc, builder.getIntegerAttr(operand.get().getType(), safe));
    operand.set(
        arith::SelectOp::create(builder, loc, bad, number, operand.get()));
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
        setInsertionPoint(op);
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
      setInsertionPoint(op);
      Value bad = compare(loc, arith::CmpIPredicate::eq, divisor.get(),
                          APInt::getZero(width));
      guard(op, divisor, bad, 1, name + " divides by zero");
    }
  }

  /// A shift by all bits and more has no result.
  void guardShift(Operation *op) {
    if (op->removeAttr(kGuardedAttr))
      return;
    OpOperand &amount = op->getOpOperand(1);
    if (!amount.get().getType().isIntOrIndex())
      return;
    ConstantIntRanges range = ranges.of(amount.get());
    unsigned width = range.umax().getBitWidth();
    if (range.umax().ult(width))
      return;
    setInsertionPoint(op);
    // Unsigned: a negative amount is too large. (Of one bit the width itself
    // is no number of the type.)
    Value bad = width == 1 ? compare(op->getLoc(), arith::CmpIPredicate::ne,
                                     amount.get(), APInt::getZero(width))
                           : compare(op->getLoc(), arith::CmpIPredicate::uge,
                                     amount.get(), APInt(width, width));
    guard(op, amount, bad, 0,
          op->getName().getStringRef() + " of " + Twine(width) +
              " bits: the amount must be 0 to " + Twine(width - 1),
          amount.get());
  }

  /// 0 to a negative power divides by zero.
  void guardPower(math::IPowIOp op) {
    if (!op.getType().isIntOrIndex())
      return;
    ConstantIntRanges base = ranges.of(op.getLhs()),
                      exponent = ranges.of(op.getRhs());
    if (!base.umin().isZero() || exponent.smin().isNonNegative())
      return;
    setInsertionPoint(op);
    APInt zero = APInt::getZero(base.umin().getBitWidth());
    Location loc = op.getLoc();
    Value isZero = compare(loc, arith::CmpIPredicate::eq, op.getLhs(), zero);
    Value isNegative =
        compare(loc, arith::CmpIPredicate::slt, op.getRhs(), zero);
    Value bad = arith::AndIOp::create(builder, loc, isZero, isNegative);
    guard(op, op.getLhsMutable(), bad, 1,
          "math.ipowi raises zero to a negative power");
  }

  /// Where `bad` holds the run ends, and `value` is 1 to the loop.
  void guardBound(LoopLikeOpInterface loop, Value value, Value bad,
                  const Twine &message) {
    Location loc = loop.getLoc();
    Value words = getStatus();
    setInsertionPoint(loop);
    createFailIf(builder, loc, bad, words,
                 (describePlace(loc) + ": " + message).str(), value);
    Value one = arith::ConstantOp::create(
        builder, loc, builder.getIntegerAttr(value.getType(), 1));
    loop->replaceUsesOfWith(
        value, arith::SelectOp::create(builder, loc, bad, one, value));
  }

  /// A loop that does not go on, or whose last step leaves its type, does not
  /// end. (Of constants --dist-check-bounds knows.)
  void guardSteps(LoopLikeOpInterface loop) {
    if (!loop.getLoopLowerBounds() || !loop.getLoopUpperBounds() ||
        !loop.getLoopSteps())
      return;
    auto counted = dyn_cast<scf::ForOp>(loop.getOperation());
    bool isUnsigned = counted && counted.getUnsignedCmp();
    Location loc = loop.getLoc();
    StringRef name = loop->getName().getStringRef();
    for (unsigned dim = 0; dim < loop.getLoopSteps()->size(); ++dim) {
      OpFoldResult to = (*loop.getLoopUpperBounds())[dim];
      auto getStep = [&] {
        return getValueOrCreateConstantIndexOp(builder, loc,
                                               (*loop.getLoopSteps())[dim]);
      };
      if (getConstantIntValue((*loop.getLoopLowerBounds())[dim]) &&
          getConstantIntValue(to) &&
          getConstantIntValue((*loop.getLoopSteps())[dim]))
        continue;
      setInsertionPoint(loop);
      Value step = getStep();
      ConstantIntRanges steps = ranges.of(step);
      unsigned width = steps.umin().getBitWidth();
      if (isUnsigned ? steps.umin().isZero()
                     : !steps.smin().isStrictlyPositive()) {
        APInt first(width, isUnsigned ? 0 : 1);
        auto predicate =
            isUnsigned ? arith::CmpIPredicate::eq : arith::CmpIPredicate::slt;
        guardBound(loop, step, compare(loc, predicate, step, first),
                   "the step of " + name + " is not positive");
        setInsertionPoint(loop);
        step = getStep();
      }
      Value end = getValueOrCreateConstantIndexOp(builder, loc, to);
      ConstantIntRanges ends = ranges.of(end);
      APInt back = (isUnsigned ? steps.umax() : steps.smax()) - 1;
      bool isBeyond;
      (void)(isUnsigned ? ends.umax().uadd_ov(back, isBeyond)
                        : ends.smax().sadd_ov(back, isBeyond));
      if (!isBeyond)
        continue;
      // The largest number less step - 1: the end is at most that.
      APInt beyond = isUnsigned ? APInt::getZero(width)
                                : APInt::getSignedMinValue(width);
      Value all = arith::ConstantOp::create(
          builder, loc, builder.getIntegerAttr(step.getType(), beyond));
      Value most = arith::SubIOp::create(builder, loc, all, step);
      auto predicate =
          isUnsigned ? arith::CmpIPredicate::ugt : arith::CmpIPredicate::sgt;
      Value bad = arith::CmpIOp::create(builder, loc, predicate, end, most);
      guardBound(loop, isa<Value>(to) ? end : step, bad,
                 "the end of " + name + " must leave room for its last step");
    }
  }

  void guardIndices(Operation *op, RankedTensorType type,
                    MutableOperandRange indices) {
    if (op->hasAttr(kGuardedAttr)) {
      op->removeAttr(kGuardedAttr);
      return;
    }
    std::string message =
        describeOutOfRange(op->getName().getStringRef(), type.getShape());
    for (auto [operand, size] : llvm::zip_equal(indices, type.getShape())) {
      ConstantIntRanges range = ranges.of(operand.get());
      if (ShapedType::isDynamic(size) || range.umax().ult(size))
        continue;
      setInsertionPoint(op);
      // Unsigned: a negative index is too large.
      Value bad = compare(op->getLoc(), arith::CmpIPredicate::uge,
                          operand.get(), APInt(64, size));
      guard(op, operand, bad, 0, message, operand.get());
    }
  }

  /// A slice at a computed position is within the tensor.
  void guardOffsets(OffsetSizeAndStrideOpInterface slice,
                    MutableOperandRange offsets, RankedTensorType type) {
    unsigned next = 0;
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      int64_t size = slice.getStaticSizes()[dim];
      int64_t stride = slice.getStaticStrides()[dim];
      if (!slice.isDynamicOffset(dim))
        continue;
      // (The interface's own number is wrong for parallel insertions.)
      OpOperand &offset = offsets[next++];
      if (type.isDynamicDim(dim) || size == 0 || ShapedType::isDynamic(size) ||
          ShapedType::isDynamic(stride))
        continue;
      // Offsets below `end` are in range; there are some (--dist-check-bounds).
      int64_t end = type.getDimSize(dim) - (size - 1) * stride;
      if (ranges.of(offset.get()).umax().ult(end))
        continue;
      setInsertionPoint(slice);
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

/// After a failed check, wrong values may keep a loop from ending. So loops
/// whose number of iterations depends on data first look at the checks. Kernels
/// call nothing: a loop in a body runs no more iterations once a check has
/// failed.
void createChecksOfLoops(func::FuncOp function) {
  bool anyCheck = false;
  SmallVector<LoopLikeOpInterface> loops;
  function.walk([&](Operation *op) {
    anyCheck |= isa<rt::FailOp>(op);
    auto isKnown = [](Value value) {
      return getConstantIntValue(value).has_value();
    };
    if (isa<scf::WhileOp>(op))
      loops.push_back(cast<LoopLikeOpInterface>(op));
    else if (auto loop = dyn_cast<scf::ForOp>(op);
             loop &&
             !(isKnown(loop.getLowerBound()) && isKnown(loop.getUpperBound()) &&
               isKnown(loop.getStep())))
      loops.push_back(loop);
  });
  if (!anyCheck)
    return;
  Value status;
  for (LoopLikeOpInterface loop : loops) {
    OpBuilder builder(loop);
    Location loc = loop.getLoc();
    auto open = dyn_cast<scf::WhileOp>(loop.getOperation());
    if (!loop->getParentOfType<linalg::LinalgOp>()) {
      if (open)
        builder.setInsertionPointToStart(open.getBeforeBody());
      rt::CheckOp::create(builder, loc);
      continue;
    }
    if (!status)
      status = createStatus(builder, function);
    if (open) {
      scf::ConditionOp condition = open.getConditionOp();
      builder.setInsertionPoint(condition);
      Value failed =
          rt::FailedOp::create(builder, loc, builder.getI1Type(), status);
      Value no =
          arith::ConstantOp::create(builder, loc, builder.getBoolAttr(false));
      condition.getConditionMutable().assign(arith::SelectOp::create(
          builder, loc, failed, no, condition.getCondition()));
      continue;
    }
    auto counted = cast<scf::ForOp>(loop.getOperation());
    Value failed =
        rt::FailedOp::create(builder, loc, builder.getI1Type(), status);
    counted.setUpperBound(arith::SelectOp::create(builder, loc, failed,
                                                  counted.getLowerBound(),
                                                  counted.getUpperBound()));
  }
}

/// Affine maps that divide by a symbol become ops, which have checks.
LogicalResult expandDivisions(func::FuncOp function) {
  SmallVector<affine::AffineApplyOp> applied;
  function.walk([&](affine::AffineApplyOp op) {
    if (!op.getAffineMap().getResult(0).isPureAffine())
      applied.push_back(op);
  });
  for (affine::AffineApplyOp op : applied) {
    OpBuilder builder(op);
    auto values =
        affine::expandAffineMap(builder, op.getLoc(), op.getAffineMap(),
                                llvm::to_vector(op.getMapOperands()));
    if (!values)
      return op.emitOpError("divides by what is no symbol and no constant");
    op.replaceAllUsesWith(values->front());
    op.erase();
  }
  return success();
}

struct GuardOps : dist::impl::DistGuardOpsBase<GuardOps> {
  void runOnOperation() override {
    if (failed(expandDivisions(getOperation())))
      return signalPassFailure();
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      ops.push_back(op);
      // LLVM would drop a check of something that is marked as impossible.
      if (auto flags = dyn_cast<arith::ArithIntegerOverflowFlagsInterface>(op))
        op->setAttr(flags.getIntegerOverflowAttrName(),
                    arith::IntegerOverflowFlagsAttr::get(
                        &getContext(), arith::IntegerOverflowFlags::none));
    });
    Guard guard(getOperation());
    for (Operation *op : ops)
      guard.visit(op);
    createChecksOfLoops(getOperation());
  }
};

} // namespace
