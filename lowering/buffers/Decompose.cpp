//===- Decompose.cpp - Tensor ops to linalg generics ----------------------===//
//
// --dist-decompose-ops: what later passes see is generics, contractions, slices
// and reshapes only.
//
//===----------------------------------------------------------------------===//

#include "lowering/buffers/Checks.h"
#include "lowering/buffers/Contraction.h"
#include "lowering/buffers/DecomposeIndexed.h"
#include "lowering/buffers/Passes.h"
#include "lowering/rt/Rt.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::dist {
#define GEN_PASS_DEF_DISTDECOMPOSEOPS
#include "lowering/buffers/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {

struct DecomposeAggregate
    : OpInterfaceRewritePattern<linalg::AggregatedOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;
  LogicalResult matchAndRewrite(linalg::AggregatedOpInterface op,
                                PatternRewriter &rewriter) const override {
    FailureOr<SmallVector<Value>> parts = op.decomposeOperation(rewriter);
    if (failed(parts))
      return failure();
    rewriter.replaceOp(op, *parts);
    return success();
  }
};

/// Named ops become generics, contractions excepted.
struct Generalize : OpInterfaceRewritePattern<linalg::LinalgOp> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;
  LogicalResult matchAndRewrite(linalg::LinalgOp op,
                                PatternRewriter &rewriter) const override {
    if (isa<linalg::FillOp>(op) || succeeded(matchContraction(op)))
      return failure();
    return linalg::generalizeNamedOp(rewriter, op);
  }
};

/// tensor.splat is a fill.
struct SplatToFill : OpRewritePattern<tensor::SplatOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::SplatOp splat,
                                PatternRewriter &rewriter) const override {
    if (!splat.getType().hasStaticShape())
      return failure();
    Value empty = tensor::EmptyOp::create(rewriter, splat.getLoc(),
                                          splat.getType().getShape(),
                                          splat.getType().getElementType());
    rewriter.replaceOpWithNewOp<linalg::FillOp>(splat, splat.getInput(), empty);
    return success();
  }
};

/// tensor.bitcast is that of its elements.
struct BitcastElements : OpRewritePattern<tensor::BitcastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::BitcastOp bitcast,
                                PatternRewriter &rewriter) const override {
    if (!isa<RankedTensorType>(bitcast.getType()))
      return failure();
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(bitcast, bitcast.getType(),
                                                  bitcast.getSource());
    return success();
  }
};

/// Packing is padding, a reshape and a transposition.
struct LowerPack : OpRewritePattern<linalg::PackOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(linalg::PackOp pack,
                                PatternRewriter &rewriter) const override {
    return linalg::lowerPack(rewriter, pack,
                             /*lowerPadLikeWithInsertSlice=*/false);
  }
};
struct LowerUnPack : OpRewritePattern<linalg::UnPackOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(linalg::UnPackOp unpack,
                                PatternRewriter &rewriter) const override {
    return linalg::lowerUnPack(rewriter, unpack,
                               /*lowerUnpadLikeWithExtractSlice=*/false);
  }
};

/// A switch is a branch in a branch. (Upstream's one-shot analysis does not see
/// that a value yielded out of a switch is a result of it, and computes ops in
/// place that must not be.)
struct SwitchToBranches : OpRewritePattern<scf::IndexSwitchOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(scf::IndexSwitchOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto take = [&](Region &region, Block *to) {
      rewriter.mergeBlocks(&region.front(), to);
    };
    SmallVector<Value> results;
    Block *otherwise = nullptr;
    for (auto [value, region] :
         llvm::zip_equal(op.getCases(), op.getCaseRegions())) {
      if (otherwise)
        rewriter.setInsertionPointToEnd(otherwise);
      Value wanted = arith::ConstantIndexOp::create(rewriter, loc, value);
      Value is = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq,
                                       op.getArg(), wanted);
      auto branch = scf::IfOp::create(rewriter, loc, op.getResultTypes(), is,
                                      /*addThenBlock=*/true,
                                      /*addElseBlock=*/true);
      take(region, branch.thenBlock());
      if (otherwise)
        scf::YieldOp::create(rewriter, loc, branch.getResults());
      else
        llvm::append_range(results, branch.getResults());
      otherwise = branch.elseBlock();
    }
    if (!otherwise) {
      Operation *yield = op.getDefaultBlock().getTerminator();
      llvm::append_range(results, yield->getOperands());
      rewriter.inlineBlockBefore(&op.getDefaultBlock(), op);
      rewriter.replaceOp(op, results);
      rewriter.eraseOp(yield);
      return success();
    }
    take(op.getDefaultRegion(), otherwise);
    rewriter.replaceOp(op, results);
    return success();
  }
};

/// Whether selects, all that read the shift `op`, drop its result where the
/// amount is all bits and more: `amount < width ? x << amount : 0`. Nobody
/// looks at what has no result then.
bool isChosenWhereDefined(Operation *op) {
  Value shifted = op->getResult(0), amount = op->getOperand(1);
  Type element = getElementTypeOrSelf(shifted.getType());
  unsigned width = element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
  return llvm::all_of(shifted.getUsers(), [&](Operation *user) {
    auto select = dyn_cast<arith::SelectOp>(user);
    if (!select || select.getCondition() == shifted ||
        select.getTrueValue() == select.getFalseValue())
      return false;
    auto compared = select.getCondition().getDefiningOp<arith::CmpIOp>();
    APInt bound;
    if (!compared || compared.getLhs() != amount ||
        !matchPattern(compared.getRhs(), m_ConstantInt(&bound)))
      return false;
    // The amounts for which the shift is chosen.
    using Predicate = arith::CmpIPredicate;
    Predicate predicate = compared.getPredicate();
    bool isTrue = select.getTrueValue() == shifted;
    if (predicate == (isTrue ? Predicate::ult : Predicate::uge))
      return bound.ule(width);
    return predicate == (isTrue ? Predicate::ule : Predicate::ugt) &&
           bound.ult(width);
  });
}

struct Decompose : dist::impl::DistDecomposeOpsBase<Decompose> {
  void runOnOperation() override {
    // What is called was inlined, as far as that goes.
    WalkResult calls = getOperation().walk([](CallOpInterface call) {
      call->emitOpError() << "is left after inlining: functions that call "
                             "themselves, or have no body, are not compiled";
      return WalkResult::interrupt();
    });
    if (calls.wasInterrupted())
      return signalPassFailure();
    // Only what is made here says that it has been checked.
    getOperation().walk([&](Operation *op) {
      op->removeDiscardableAttr(kGuardedAttr);
      if (isa<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>(op) &&
          isChosenWhereDefined(op))
        op->setAttr(kGuardedAttr, UnitAttr::get(&getContext()));
    });
    MLIRContext *context = &getContext();
    RewritePatternSet patterns(context);
    populateDecomposeIndexedPatterns(patterns);
    patterns.add<DecomposeAggregate, Generalize, SwitchToBranches, SplatToFill,
                 BitcastElements, LowerPack, LowerUnPack,
                 linalg::DecomposePadOpPattern>(context);
    tensor::populateDecomposeTensorConcatPatterns(patterns);
    linalg::populateElementwiseToLinalgConversionPatterns(patterns);
    linalg::populateDecomposeWinogradOpsPatterns(patterns);
    linalg::populateInlineConstantOperandsPatterns(patterns);
    linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
    GreedyRewriteConfig config;
    config.setMaxIterations(GreedyRewriteConfig::kNoLimit);
    if (failed(
            applyPatternsGreedily(getOperation(), std::move(patterns), config)))
      return signalPassFailure();
  }
};

} // namespace
