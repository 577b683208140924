//===- Decompose.cpp - Tensor ops to linalg generics ----------------------===//
//
// --dist-decompose-ops: later passes see only generics, contractions, slices
// and reshapes.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Attention.h"
#include "dialects/dist/Interfaces/RuleModels.h"
#include "lowering/bounds/Bounds.h"
#include "lowering/buffers/ContractionMatch.h"
#include "lowering/buffers/RuntimeChecks.h"
#include "lowering/decompose/DecomposeIndexed.h"
#include "lowering/decompose/ExpandRandom.h"
#include "lowering/decompose/Passes.h"
#include "lowering/rt/Rt.h"
#include "mlir/Analysis/FlatLinearValueConstraints.h"
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
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/Support/MathExtras.h"
#include <optional>

namespace mlir::dist {
#define GEN_PASS_DEF_DISTDECOMPOSEOPS
#include "lowering/decompose/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

//===----------------------------------------------------------------------===//
// Ops that write a part of a result
//===----------------------------------------------------------------------===//
// The rest is the old contents of the destination. Bufferization and all later
// passes assume that a destination that no body reads is overwritten
// completely; here that becomes true.

namespace {

/// A loop that never turns: the op writes nothing.
struct FoldEmptyNest : OpInterfaceRewritePattern<linalg::LinalgOp> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;
  LogicalResult matchAndRewrite(linalg::LinalgOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.hasPureTensorSemantics() ||
        !llvm::is_contained(op.getStaticLoopRanges(), 0))
      return failure();
    SmallVector<Value> inits(op.getDpsInits());
    rewriter.replaceOp(op, inits);
    return success();
  }
};

/// For one dimension, where a nest writes: each position of a slice, once.
struct Written {
  int64_t offset, size, stride;
  /// The place in the slice.
  AffineExpr expr;
};

/// A loop that moves a place by a step, forwards or backwards.
struct Term {
  int64_t step, turns;
  unsigned loop;
  bool isBackwards;
};

} // namespace

/// The places c + s * (d0 + n0 * (d1 + n1 * …)), where n0 is the turns of d0,
/// which may also count down: each is another. Nothing for others. `used` are
/// loops that make another dimension's places.
static std::optional<Written> findWritten(AffineExpr expr,
                                          ArrayRef<int64_t> loops,
                                          llvm::SmallBitVector &used) {
  SmallVector<int64_t> factors;
  if (failed(getFlattenedAffineExpr(expr, loops.size(), 0, &factors)) ||
      factors.size() != loops.size() + 1)
    return std::nullopt;
  SmallVector<Term> terms;
  int64_t offset = factors.back();
  for (auto [loop, turns] : llvm::enumerate(loops)) {
    int64_t step = factors[loop];
    if (step == 0 || turns == 1)
      continue;
    if (step < 0)
      offset += step * (turns - 1);
    terms.push_back(
        {std::abs(step), turns, static_cast<unsigned>(loop), step < 0});
  }
  llvm::sort(terms,
             [](const Term &a, const Term &b) { return a.step < b.step; });
  Written written{offset, 1, 1, getAffineConstantExpr(0, expr.getContext())};
  if (!terms.empty())
    written.stride = terms.front().step;
  for (const Term &term : terms) {
    if (term.step != written.stride * written.size || used.test(term.loop))
      return std::nullopt;
    used.set(term.loop);
    AffineExpr turn = getAffineDimExpr(term.loop, expr.getContext());
    if (term.isBackwards)
      turn = term.turns - 1 - turn;
    written.expr = written.expr + turn * written.size;
    written.size *= term.turns;
  }
  return written;
}

/// Where a nest writes a tensor through `map`; empty if it is unknown.
static std::optional<SmallVector<Written>>
findWritten(AffineMap map, ArrayRef<int64_t> loops) {
  llvm::SmallBitVector used(loops.size());
  SmallVector<Written> all;
  for (AffineExpr expr : map.getResults()) {
    std::optional<Written> written = findWritten(expr, loops, used);
    if (!written)
      return std::nullopt;
    all.push_back(*written);
  }
  return all;
}

/// The value of an expression of dimensions and constants; -1, which is no
/// index, if a divisor is not positive.
static int64_t evaluate(AffineExpr expr, ArrayRef<int64_t> dims) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expr);
  int64_t a = evaluate(binary.getLHS(), dims),
          b = evaluate(binary.getRHS(), dims);
  bool divides = expr.getKind() != AffineExprKind::Add &&
                 expr.getKind() != AffineExprKind::Mul;
  if (divides && b <= 0)
    return -1;
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return a + b;
  case AffineExprKind::Mul:
    return a * b;
  case AffineExprKind::Mod:
    return llvm::mod(a, b);
  case AffineExprKind::FloorDiv:
    return llvm::divideFloorSigned(a, b);
  default:
    return llvm::divideCeilSigned(a, b);
  }
}

/// Whether a nest writes every element of a tensor of this shape, by trying all
/// places. False if those are too many.
static bool writesAll(AffineMap map, ArrayRef<int64_t> loops,
                      ArrayRef<int64_t> shape) {
  int64_t places = 1, elements = 1;
  for (int64_t turns : loops)
    if (llvm::MulOverflow(places, turns, places) || places > kMostPlaces)
      return false;
  for (int64_t size : shape)
    if (llvm::MulOverflow(elements, size, elements) || elements > places)
      return false;
  llvm::BitVector seen(elements);
  SmallVector<int64_t> dims(loops.size(), 0);
  for (int64_t place = 0; place < places; ++place) {
    int64_t element = 0;
    for (auto [expr, size] : llvm::zip_equal(map.getResults(), shape)) {
      int64_t index = evaluate(expr, dims);
      if (index < 0 || index >= size)
        return false;
      element = element * size + index;
    }
    seen.set(element);
    for (unsigned loop = loops.size(); loop-- > 0;) {
      if (++dims[loop] < loops[loop])
        break;
      dims[loop] = 0;
    }
  }
  return seen.all();
}

namespace {

/// Writes to a part of a destination that is not read become writes to a slice
/// of it.
struct WriteThroughSlices : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override;
};

} // namespace

LogicalResult
WriteThroughSlices::matchAndRewrite(linalg::GenericOp op,
                                    PatternRewriter &rewriter) const {
  SmallVector<int64_t> loops = op.getStaticLoopRanges();
  if (!op.hasPureTensorSemantics() ||
      llvm::any_of(loops, ShapedType::isDynamic))
    return failure();
  struct Slice {
    SmallVector<OpFoldResult> offsets, sizes, strides;
  };
  SmallVector<std::optional<Slice>> slices(op.getNumDpsInits());
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  SmallVector<Value> inits(op.getDpsInits());
  for (OpOperand &init : op.getDpsInitsMutable()) {
    unsigned number = init.getOperandNumber() - op.getNumDpsInputs();
    auto type = cast<RankedTensorType>(init.get().getType());
    AffineMap &map = maps[init.getOperandNumber()];
    if (op.payloadUsesValueFromOperand(&init))
      continue;
    auto written = findWritten(map, loops);
    if (!written && writesAll(map, loops, type.getShape()))
      continue;
    if (!written)
      return rewriter.notifyMatchFailure(op, "writes places not known");
    SmallVector<AffineExpr> exprs;
    Slice slice;
    bool isWhole = true;
    for (auto [one, size] : llvm::zip_equal(*written, type.getShape())) {
      isWhole &= one.size == size && one.stride == 1 && one.offset == 0;
      slice.offsets.push_back(rewriter.getIndexAttr(one.offset));
      slice.sizes.push_back(rewriter.getIndexAttr(one.size));
      slice.strides.push_back(rewriter.getIndexAttr(one.stride));
      exprs.push_back(one.expr);
    }
    if (isWhole)
      continue;
    map = AffineMap::get(map.getNumDims(), 0, exprs, op.getContext());
    inits[number] = tensor::ExtractSliceOp::create(rewriter, op.getLoc(),
                                                   init.get(), slice.offsets,
                                                   slice.sizes, slice.strides);
    slices[number] = std::move(slice);
  }
  if (llvm::none_of(slices, [](auto &slice) { return slice.has_value(); }))
    return failure();
  auto made = linalg::GenericOp::create(
      rewriter, op.getLoc(), ValueRange(inits).getTypes(), op.getInputs(),
      inits, maps, op.getIteratorTypesArray());
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  rewriter.inlineRegionBefore(op.getRegion(), made.getRegion(),
                              made.getRegion().begin());
  SmallVector<Value> results(made.getResults());
  for (auto [result, init, slice] :
       llvm::zip_equal(results, op.getDpsInits(), slices))
    if (slice)
      result = tensor::InsertSliceOp::create(rewriter, op.getLoc(), result,
                                             init, slice->offsets, slice->sizes,
                                             slice->strides);
  rewriter.replaceOp(op, results);
  return success();
}

/// An error at ops that write a part of a result that is no slice of it.
static LogicalResult checkWholeResults(Operation *root) {
  WalkResult result = root->walk([](linalg::LinalgOp op) {
    SmallVector<int64_t> loops = op.getStaticLoopRanges();
    for (OpOperand &init : op.getDpsInitsMutable()) {
      auto type = dyn_cast<RankedTensorType>(init.get().getType());
      AffineMap map = op.getMatchingIndexingMap(&init);
      if (!type || op.payloadUsesValueFromOperand(&init) ||
          llvm::any_of(loops, ShapedType::isDynamic) ||
          findWritten(map, loops) || writesAll(map, loops, type.getShape()))
        continue;
      op.emitOpError("writes result ")
          << init.getOperandNumber() - op.getNumDpsInputs()
          << " at places that are no slice of it, each once, and does not "
             "read what it held: which elements stay is not known; a selection "
             "over all elements says so";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Ops that are others
//===----------------------------------------------------------------------===//

namespace {

/// Whether each op of a body has a result, whatever its operands are.
bool isSafe(Region &body) {
  return llvm::all_of(body.front(), [](Operation &op) {
    bool isSafe = !isa<arith::FPToSIOp, arith::FPToUIOp>(op);
    forEachUnsafeOperand(&op, [&](OpOperand &, int64_t) { isSafe = false; });
    return isSafe;
  });
}

/// Whether the op is computed in tiles, and its parts would not be recognised.
bool isTiled(Operation *op, int64_t minScores) {
  auto attention = dyn_cast<AttentionLikeOpInterface>(op);
  if (!attention || !attention.getScoreType().isF32() ||
      (isa<AttentionOp>(op) && op->getNumResults() < 3))
    return false;
  return attention.getNumScores() >= minScores &&
         llvm::all_of(op->getRegions(), isSafe);
}

struct DecomposeAggregate
    : OpInterfaceRewritePattern<linalg::AggregatedOpInterface> {
  DecomposeAggregate(MLIRContext *context, int64_t minScores)
      : OpInterfaceRewritePattern(context), minScores(minScores) {}

  int64_t minScores;

  LogicalResult matchAndRewrite(linalg::AggregatedOpInterface op,
                                PatternRewriter &rewriter) const override {
    if (isTiled(op, minScores))
      return failure();
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
    // For traces of its later forms.
    Attribute scope = op->getAttr(kScopeAttr);
    FailureOr<linalg::GenericOp> generic =
        linalg::generalizeNamedOp(rewriter, op);
    if (succeeded(generic) && scope)
      (*generic)->setAttr(kScopeAttr, scope);
    return generic;
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

/// Whether all readers of the shift `op` are selects that drop its result if
/// the amount is all bits and more: `amount < width ? x << amount : 0`. Then
/// nobody reads the undefined result.
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
  using DistDecomposeOpsBase::DistDecomposeOpsBase;

  void runOnOperation() override {
    // Called functions were inlined, as far as possible.
    WalkResult calls = getOperation().walk([](CallOpInterface call) {
      call->emitOpError() << "is left after inlining: functions that call "
                             "themselves, or have no body, are not compiled";
      return WalkResult::interrupt();
    });
    if (calls.wasInterrupted())
      return signalPassFailure();
    // Only ops that are created here are marked as checked.
    getOperation().walk([&](Operation *op) {
      op->removeDiscardableAttr(kGuardedAttr);
      if (isa<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>(op) &&
          isChosenWhereDefined(op))
        op->setAttr(kGuardedAttr, UnitAttr::get(&getContext()));
    });
    if (failed(checkRandomStreams(getOperation())))
      return signalPassFailure();
    MLIRContext *context = &getContext();
    RewritePatternSet patterns(context);
    populateDecomposeIndexedPatterns(patterns, sortsScatters);
    populateExpandRandomPatterns(patterns);
    patterns.add<DecomposeAggregate>(context, minScores);
    patterns.add<Generalize, SwitchToBranches, SplatToFill, BitcastElements,
                 FoldEmptyNest, WriteThroughSlices, LowerPack, LowerUnPack,
                 linalg::DecomposePadOpPattern>(context);
    tensor::populateDecomposeTensorConcatPatterns(patterns);
    linalg::populateElementwiseToLinalgConversionPatterns(patterns);
    linalg::populateDecomposeWinogradOpsPatterns(patterns);
    linalg::populateInlineConstantOperandsPatterns(patterns);
    linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
    FrozenRewritePatternSet frozen(std::move(patterns));
    // A function that returns thousands of values would be looked at, operand
    // by operand, whenever one of them is another: the returns' turn is last.
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      if (op != getOperation() && !op->hasTrait<OpTrait::IsTerminator>())
        ops.push_back(op);
    });
    GreedyRewriteConfig config;
    config.setMaxIterations(GreedyRewriteConfig::kNoLimit);
    if (failed(applyOpPatternsGreedily(
            ops, frozen,
            GreedyRewriteConfig(config).setStrictness(
                GreedyRewriteStrictness::ExistingAndNewOps))) ||
        failed(applyPatternsGreedily(getOperation(), frozen, config)) ||
        failed(checkWholeResults(getOperation())))
      return signalPassFailure();
  }
};

} // namespace
