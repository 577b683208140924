//===- ExpandMath.cpp - Mathematical functions that vectorize -------------===//
//
// --dist-cpu-expand-math.
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::dist {
#define GEN_PASS_DEF_DISTCPUEXPANDMATH
#include "lowering/cpu/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;

namespace {

/// exp(x) = 2^n e^r, n = round(x / ln 2). r = x - n ln 2 is computed in two
/// steps (Cody, Waite 1980), e^r by the polynomial of Cephes' expf. n is
/// rounded by adding a number so large that no fraction is left, and read from
/// the last bits. Upstream's approximation takes 22 instructions; this takes
/// 16. A result less than f32's smallest normal number is 0; of bf16, where it
/// is a number, e^x is the square of e^(x/2).
struct ExpandExp : OpRewritePattern<math::ExpOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::ExpOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getType().isF32())
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto number = [&](double value) -> Value {
      return arith::ConstantOp::create(b, b.getF32FloatAttr(value));
    };
    auto bits = [&](int32_t value) -> Value {
      return arith::ConstantOp::create(b, b.getI32IntegerAttr(value));
    };
    auto fma = [&](Value x, Value y, Value z) -> Value {
      return math::FmaOp::create(b, x, y, z);
    };
    constexpr double rounding = 0x1.8p23, largest = 127;
    Value x = op.getOperand();
    auto extended = x.getDefiningOp<arith::ExtFOp>();
    bool isOfBf16 = extended && extended.getIn().getType().isBF16();
    if (isOfBf16)
      x = arith::MulFOp::create(b, x, number(0.5));
    Value shifted = fma(x, number(M_LOG2E), number(rounding));
    // 2^128 is infinite: numbers near it take a larger r.
    Value isBelow = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, shifted,
                                          number(rounding + largest));
    shifted = arith::SelectOp::create(b, isBelow, shifted,
                                      number(rounding + largest));
    Value n = arith::SubFOp::create(b, shifted, number(rounding));
    Value r = fma(n, number(-0.693359375), x);
    r = fma(n, number(2.12194440e-4), r);
    Value power = number(1.9875691500e-4);
    for (double coefficient :
         {1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1,
          5.0000001201e-1, 1.0, 1.0})
      power = fma(power, r, number(coefficient));
    Value scale = arith::ShLIOp::create(
        b, arith::BitcastOp::create(b, b.getI32Type(), shifted), bits(23));
    scale = arith::AddIOp::create(b, scale, bits(127 << 23));
    scale = arith::BitcastOp::create(b, b.getF32Type(), scale);
    Value result = arith::MulFOp::create(b, power, scale);
    Value isNothing = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, x,
                                            number(-87.3365448));
    result = arith::SelectOp::create(b, isNothing, number(0), result);
    if (isOfBf16)
      result = arith::MulFOp::create(b, result, result);
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct ExpandMath : dist::impl::DistCpuExpandMathBase<ExpandMath> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    // Upstream's polynomial of -0 is 0.
    getOperation()->walk([](math::ErfOp op) {
      OpBuilder builder(op.getContext());
      builder.setInsertionPointAfter(op);
      auto result = math::CopySignOp::create(builder, op.getLoc(), op,
                                             op.getOperand());
      op.getResult().replaceAllUsesExcept(result, result);
    });
    // The polynomial loses results below f32's smallest normal number.
    SmallVector<Operation *> approximate;
    getOperation()->walk([&](math::ErfcOp op) {
      if (bitEnumContainsAll(op.getFastmath(), arith::FastMathFlags::afn))
        approximate.push_back(op);
    });
    RewritePatternSet polynomial(context);
    populateMathPolynomialApproximationPatterns(polynomial, [](StringRef name) {
      return name == math::ErfcOp::getOperationName();
    });
    if (failed(applyOpPatternsGreedily(approximate, std::move(polynomial))))
      return signalPassFailure();
    // Upstream makes roots of these, which differ from powers at -0 and
    // -infinity.
    getOperation()->walk([](math::PowFOp op) {
      // In 16 bits the exponent is extended, as x is.
      Value given = op.getRhs();
      if (auto extend = given.getDefiningOp<arith::ExtFOp>())
        given = extend.getIn();
      APFloat exponent(0.0);
      if (!matchPattern(given, m_ConstantFloat(&exponent)) ||
          llvm::none_of(ArrayRef<double>{0.5, -0.5, 0.75}, [&](double root) {
            return exponent.isExactlyValue(root);
          }))
        return;
      ImplicitLocOpBuilder b(op.getLoc(), op);
      Value x = op.getLhs();
      auto number = [&](const APFloat &value) -> Value {
        TypedAttr attr =
            FloatAttr::get(getElementTypeOrSelf(x.getType()), value);
        if (auto shaped = dyn_cast<ShapedType>(x.getType()))
          attr = DenseElementsAttr::get(shaped, attr);
        return arith::ConstantOp::create(b, attr);
      };
      const llvm::fltSemantics &type =
          cast<FloatType>(getElementTypeOrSelf(x.getType()))
              .getFloatSemantics();
      Value infinity = number(APFloat::getInf(type));
      Value isNegative = arith::CmpFOp::create(
          b, arith::CmpFPredicate::OEQ, x,
          number(APFloat::getInf(type, /*Negative=*/true)));
      Value positive =
          arith::AddFOp::create(b, x, number(APFloat::getZero(type)));
      op.getLhsMutable().assign(
          arith::SelectOp::create(b, isNegative, infinity, positive));
    });
    RewritePatternSet patterns(context);
    populateMathAlgebraicSimplificationPatterns(patterns);
    arith::populateCeilFloorDivExpandOpsPatterns(patterns);
    math::populateExpansionPatterns(patterns, {"rsqrt"});
    populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
      return name == math::TanhOp::getOperationName() ||
             name == math::ErfOp::getOperationName();
    });
    patterns.add<ExpandExp>(context);
    GreedyRewriteConfig config;
    config.setMaxIterations(GreedyRewriteConfig::kNoLimit);
    if (failed(
            applyPatternsGreedily(getOperation(), std::move(patterns), config)))
      return signalPassFailure();
  }
};
} // namespace
