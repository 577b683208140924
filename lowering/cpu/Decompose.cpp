//===- Decompose.cpp - Tensor ops to linalg generics
//------------------------===//
//
// --dist-cpu-decompose: what later passes see is generics, contractions, slices
// and reshapes only.
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/Contraction.h"
#include "lowering/cpu/Passes.h"
#include "lowering/rt/Rt.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::dist {
#define GEN_PASS_DEF_DISTCPUDECOMPOSE
#include "lowering/cpu/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

static std::string describe(Location loc) {
  if (auto named = loc->findInstanceOf<NameLoc>())
    return named.getName().str();
  if (auto file = loc->findInstanceOf<FileLineColLoc>())
    return (llvm::Twine(file.getFilename().getValue()) + ":" +
            llvm::Twine(file.getLine()))
        .str();
  return "unknown location";
}

namespace {

/// tensor.gather: first the indices are checked against the source's extents
/// (an index out of range ends the run, it does not read what lies there), then
/// a generic extracts elements.
struct GatherToGeneric : OpRewritePattern<tensor::GatherOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tensor::GatherOp gather,
                                PatternRewriter &rewriter) const override {
    RankedTensorType sourceType = gather.getSourceType();
    RankedTensorType resultType = gather.getResultType();
    RankedTensorType indicesType = gather.getIndicesType();
    ArrayRef<int64_t> gathered = gather.getGatherDims();
    int64_t batchRank = indicesType.getRank() - 1;
    if (!resultType.hasStaticShape() || !indicesType.hasStaticShape() ||
        !sourceType.hasStaticShape())
      return rewriter.notifyMatchFailure(gather, "dynamic shape");
    bool keepsRank = resultType.getRank() == batchRank + sourceType.getRank();

    Location loc = gather.getLoc();
    Value indices = checkIndices(rewriter, gather);
    Value init = tensor::EmptyOp::create(rewriter, loc, resultType.getShape(),
                                         resultType.getElementType());
    // One map for each coordinate, from the loops of the result.
    SmallVector<AffineMap> maps;
    SmallVector<Value> inputs;
    for (size_t k = 0; k < gathered.size(); ++k) {
      SmallVector<AffineExpr> exprs;
      for (int64_t d = 0; d < batchRank; ++d)
        exprs.push_back(rewriter.getAffineDimExpr(d));
      exprs.push_back(rewriter.getAffineConstantExpr(k));
      inputs.push_back(indices);
      maps.push_back(AffineMap::get(resultType.getRank(), 0, exprs,
                                    rewriter.getContext()));
    }
    maps.push_back(rewriter.getMultiDimIdentityMap(resultType.getRank()));
    SmallVector<utils::IteratorType> iterators(resultType.getRank(),
                                               utils::IteratorType::parallel);
    auto generic = linalg::GenericOp::create(
        rewriter, loc, resultType, inputs, init, maps, iterators,
        [&](OpBuilder &b, Location l, ValueRange args) {
          SmallVector<Value> coordinates;
          int64_t next = batchRank;
          for (int64_t d = 0; d < sourceType.getRank(); ++d) {
            auto *position = llvm::find(gathered, d);
            if (position == gathered.end()) {
              coordinates.push_back(linalg::IndexOp::create(b, l, next++));
              continue;
            }
            coordinates.push_back(args[position - gathered.begin()]);
            if (keepsRank)
              ++next;
          }
          Value element =
              tensor::ExtractOp::create(b, l, gather.getSource(), coordinates);
          linalg::YieldOp::create(b, l, element);
        });
    generic->setDiscardableAttrs(gather->getDiscardableAttrDictionary());
    rewriter.replaceOp(gather, generic->getResults());
    return success();
  }

  /// The indices as `index`, after ending the run if one is out of range.
  static Value checkIndices(PatternRewriter &rewriter,
                            tensor::GatherOp gather) {
    Location loc = gather.getLoc();
    RankedTensorType indicesType = gather.getIndicesType();
    ArrayRef<int64_t> gathered = gather.getGatherDims();
    SmallVector<int64_t> extents;
    std::string list;
    for (int64_t d : gathered) {
      extents.push_back(gather.getSourceType().getDimSize(d));
      list += (list.empty() ? "" : ", ") + std::to_string(extents.back());
    }
    std::string message =
        describe(loc) +
        ": an index of the gather is out of range: coordinates "
        "must be at least 0 and less than [" +
        list + "]";
    auto pointer = LLVM::LLVMPointerType::get(rewriter.getContext());
    Value rank = rt::RankOp::create(rewriter, loc, pointer);
    Value init = tensor::EmptyOp::create(rewriter, loc, indicesType.getShape(),
                                         rewriter.getIndexType());
    AffineMap identity = rewriter.getMultiDimIdentityMap(indicesType.getRank());
    SmallVector<utils::IteratorType> iterators(indicesType.getRank(),
                                               utils::IteratorType::parallel);
    auto generic = linalg::GenericOp::create(
        rewriter, loc, init.getType(), gather.getIndices(), init,
        ArrayRef<AffineMap>{identity, identity}, iterators,
        [&](OpBuilder &b, Location l, ValueRange args) {
          Value index = args[0];
          if (!index.getType().isIndex())
            index = arith::IndexCastOp::create(b, l, b.getIndexType(), index);
          Value extent;
          if (llvm::all_equal(extents)) {
            extent = arith::ConstantIndexOp::create(b, l, extents.front());
          } else {
            Value k = linalg::IndexOp::create(b, l, indicesType.getRank() - 1);
            extent = arith::ConstantIndexOp::create(b, l, extents.back());
            for (size_t i = 0; i + 1 < extents.size(); ++i) {
              Value position = arith::ConstantIndexOp::create(b, l, i);
              Value isThis = arith::CmpIOp::create(
                  b, l, arith::CmpIPredicate::eq, k, position);
              Value value = arith::ConstantIndexOp::create(b, l, extents[i]);
              extent = arith::SelectOp::create(b, l, isThis, value, extent);
            }
          }
          // Unsigned: a negative index is too large.
          Value bad = arith::CmpIOp::create(b, l, arith::CmpIPredicate::uge,
                                            index, extent);
          scf::IfOp::create(b, l, bad, [&](OpBuilder &then, Location at) {
            rt::FailOp::create(then, at, rank, message);
            scf::YieldOp::create(then, at);
          });
          linalg::YieldOp::create(b, l, index);
        });
    return generic.getResult(0);
  }
};

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

struct Decompose : dist::impl::DistCpuDecomposeBase<Decompose> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    RewritePatternSet patterns(context);
    patterns.add<GatherToGeneric, DecomposeAggregate, Generalize, SplatToFill,
                 linalg::DecomposePadOpPattern>(context);
    tensor::populateDecomposeTensorConcatPatterns(patterns);
    linalg::populateElementwiseToLinalgConversionPatterns(patterns);
    linalg::populateDecomposePackUnpackPatterns(patterns);
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
