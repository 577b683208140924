//===- ExpandBf16.cpp - bf16 in f32 and integer arithmetic ----------------===//
//
// --dist-cpu-expand-bf16. Few processors round to bf16; for the others LLVM
// calls functions of compiler-rt, for each element, which no library here has.
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::dist {
#define GEN_PASS_DEF_DISTCPUEXPANDBF16
#include "lowering/cpu/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;

/// Most programs do not, and to look is cheaper than to rewrite.
static bool usesBf16(ModuleOp module) {
  auto isBf16 = [](Type type) { return getElementTypeOrSelf(type).isBF16(); };
  WalkResult result = module.walk([&](Operation *op) {
    return WalkResult(
        llvm::failure(llvm::any_of(op->getOperandTypes(), isBf16) ||
                      llvm::any_of(op->getResultTypes(), isBf16)));
  });
  return result.wasInterrupted();
}

namespace {

/// f64 to bf16 through f32 that is rounded to odd. In effect it is rounded
/// once. (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums:
/// proved algorithms using rounding to odd", 2008.)
struct TruncateF64 : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &rewriter) const override {
    Value wide = op.getIn();
    if (!wide.getType().isF64() || !op.getType().isBF16() ||
        op.getRoundingmodeAttr())
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Type i32 = b.getI32Type(), f32 = b.getF32Type();
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantOp::create(b, b.getIntegerAttr(i32, value));
    };
    Value near = arith::TruncFOp::create(b, f32, wide);
    Value back = arith::ExtFOp::create(b, b.getF64Type(), near);
    Value bits = arith::BitcastOp::create(b, i32, near);
    // Magnitudes are ordered as their bits: one less where it was rounded away
    // from zero. Infinities that come of rounding stay: bf16 has them as well.
    Value positive = arith::CmpFOp::create(
        b, arith::CmpFPredicate::OGE, wide,
        arith::ConstantOp::create(b, b.getF64FloatAttr(0)));
    Value above =
        arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, back, wide);
    Value below =
        arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, back, wide);
    Value away = arith::SelectOp::create(b, positive, above, below);
    Value toZero = arith::SelectOp::create(
        b, away, arith::SubIOp::create(b, bits, constant(1)), bits);
    Value odd = arith::OrIOp::create(b, toZero, constant(1));
    Value inexact =
        arith::CmpFOp::create(b, arith::CmpFPredicate::ONE, back, wide);
    Value rounded = arith::SelectOp::create(b, inexact, odd, bits);
    Value narrow = arith::BitcastOp::create(b, f32, rounded);
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(), narrow);
    return success();
  }
};

struct ExpandBf16 : dist::impl::DistCpuExpandBf16Base<ExpandBf16> {
  void runOnOperation() override {
    bool hasBf16 = usesBf16(getOperation());
    if (hasBf16 && failed(emulate()))
      return signalPassFailure();
    // The emulation marks its conversions as ones that may be left out in
    // pairs, as does that of f16. But each op must be rounded.
    getOperation()->walk([](Operation *op) {
      if (isa<arith::ExtFOp, arith::TruncFOp>(op))
        cast<arith::ArithFastMathInterface>(op)->setAttr(
            cast<arith::ArithFastMathInterface>(op).getFastMathAttrName(),
            arith::FastMathFlagsAttr::get(op->getContext(),
                                          arith::FastMathFlags::none));
    });
    if (hasBf16 && failed(expandConversions()))
      return signalPassFailure();
  }

private:
  LogicalResult emulate() {
    MLIRContext *context = &getContext();
    Type bf16 = BFloat16Type::get(context), f32 = Float32Type::get(context);
    TypeConverter converter;
    arith::populateEmulateUnsupportedFloatsConversions(converter, {bf16}, f32);
    RewritePatternSet emulation(context);
    arith::populateEmulateUnsupportedFloatsPatterns(emulation, converter);
    ConversionTarget target(*context);
    arith::populateEmulateUnsupportedFloatsLegality(target, converter);
    return applyPartialConversion(getOperation(), target, std::move(emulation));
  }

  LogicalResult expandConversions() {
    RewritePatternSet patterns(&getContext());
    patterns.add<TruncateF64>(&getContext());
    arith::populateExpandBFloat16Patterns(patterns);
    GreedyRewriteConfig config;
    config.setMaxIterations(GreedyRewriteConfig::kNoLimit);
    return applyPatternsGreedily(getOperation(), std::move(patterns), config);
  }
};

} // namespace
