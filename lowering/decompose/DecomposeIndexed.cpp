//===- DecomposeIndexed.cpp - Gathers, scatters, conditions that must hold ===//

#include "lowering/decompose/DecomposeIndexed.h"
#include "dialects/dist/IR/Gradients.h"
#include "dialects/dist/Utils/Elementwise.h"
#include "dialects/dist/Utils/Program.h"
#include "lowering/buffers/RuntimeChecks.h"
#include "lowering/rt/Rt.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <numeric>

using namespace mlir;
using namespace mlir::dist;

static Value getStatus(PatternRewriter &rewriter, Operation *op) {
  return createStatus(rewriter, op->getParentOfType<func::FuncOp>());
}

static SmallVector<int64_t> getExtents(RankedTensorType type,
                                       ArrayRef<int64_t> dims) {
  return llvm::map_to_vector(dims,
                             [&](int64_t dim) { return type.getDimSize(dim); });
}

static std::string indexMessage(Operation *op, ArrayRef<int64_t> extents,
                                StringRef what) {
  return describePlace(op->getLoc()) + ": " +
         describeOutOfRange(("the " + what).str(), extents);
}

/// Where the tensor has no place that an index could name, none is in range.
static bool failForAny(PatternRewriter &rewriter, Operation *op, Value indices,
                       RankedTensorType indexed, ArrayRef<int64_t> dims,
                       StringRef what) {
  SmallVector<int64_t> extents = getExtents(indexed, dims);
  if (!llvm::is_contained(extents, 0))
    return false;
  if (cast<RankedTensorType>(indices.getType()).getNumElements() > 0)
    rt::FailOp::create(rewriter, op->getLoc(), getStatus(rewriter, op),
                       indexMessage(op, extents, what), Value());
  return true;
}

/// The indices as `index`. One that is out of range fails the check, and is 0
/// from there on: nothing beyond the tensor is read or written.
static Value checkIndices(PatternRewriter &rewriter, Operation *op,
                          Value indices, RankedTensorType indexed,
                          ArrayRef<int64_t> dims, StringRef what) {
  Location loc = op->getLoc();
  auto indicesType = cast<RankedTensorType>(indices.getType());
  SmallVector<int64_t> extents = getExtents(indexed, dims);
  std::string message = indexMessage(op, extents, what);
  Value status = getStatus(rewriter, op);
  return mapElements(
      rewriter, loc, indices, rewriter.getIndexType(),
      [&](OpBuilder &b, Location l, ValueRange args) -> Value {
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
            Value isThis = arith::CmpIOp::create(b, l, arith::CmpIPredicate::eq,
                                                 k, position);
            Value value = arith::ConstantIndexOp::create(b, l, extents[i]);
            extent = arith::SelectOp::create(b, l, isThis, value, extent);
          }
        }
        // Unsigned: a negative index is too large.
        Value bad = arith::CmpIOp::create(b, l, arith::CmpIPredicate::uge,
                                          index, extent);
        createFailIf(b, l, bad, status, message, index);
        Value zero = arith::ConstantIndexOp::create(b, l, 0);
        return arith::SelectOp::create(b, l, bad, zero, index);
      });
}

/// How the one user of a tensor permutes it, if it does nothing else: dimension
/// i of the user's result is dimension [i] of the tensor.
static std::optional<SmallVector<int64_t>> findTranspose(Value value) {
  if (!value.hasOneUse())
    return std::nullopt;
  auto user = dyn_cast<linalg::LinalgOp>(*value.user_begin());
  if (!user || user->getNumResults() != 1 || user.getNumDpsInputs() != 1 ||
      user.getDpsInputOperand(0)->get() != value)
    return std::nullopt;
  if (auto transpose = dyn_cast<linalg::TransposeOp>(*user))
    return SmallVector<int64_t>(transpose.getPermutation());
  AffineMap map = user.getMatchingIndexingMap(user.getDpsInputOperand(0));
  Block *body = user.getBlock();
  if (!isa<linalg::GenericOp>(*user) || !map.isPermutation() ||
      !user.getIndexingMapsArray().back().isIdentity() ||
      body->getTerminator()->getOperand(0) != body->getArgument(0))
    return std::nullopt;
  SmallVector<int64_t> permutation(map.getNumResults());
  for (unsigned dim = 0; dim < map.getNumResults(); ++dim)
    permutation[map.getDimPosition(dim)] = dim;
  return permutation;
}

namespace {

/// tensor.gather: first the indices are checked against the source's extents,
/// then a generic extracts elements. It iterates over a transposed result in
/// memory order.
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
    if (llvm::is_contained(getExtents(sourceType, gathered), 0)) {
      Value init = tensor::EmptyOp::create(rewriter, loc, resultType.getShape(),
                                           resultType.getElementType());
      failForAny(rewriter, gather, gather.getIndices(), sourceType, gathered,
                 "gather");
      rewriter.replaceOp(gather, init);
      return success();
    }
    Value indices = checkIndices(rewriter, gather, gather.getIndices(),
                                 sourceType, gathered, "gather");
    // Loop loops[d] runs over dimension d of the gather's result.
    Operation *replaced = gather;
    SmallVector<unsigned> loops(resultType.getRank());
    std::iota(loops.begin(), loops.end(), 0);
    if (auto permutation = findTranspose(gather.getResult())) {
      replaced = *gather->user_begin();
      resultType = cast<RankedTensorType>(replaced->getResult(0).getType());
      for (auto [loop, dim] : llvm::enumerate(*permutation))
        loops[dim] = loop;
    }
    Value init = tensor::EmptyOp::create(rewriter, loc, resultType.getShape(),
                                         resultType.getElementType());
    // One map for each coordinate, from the loops of the result.
    SmallVector<AffineMap> maps;
    SmallVector<Value> inputs;
    for (size_t k = 0; k < gathered.size(); ++k) {
      SmallVector<AffineExpr> exprs;
      for (int64_t d = 0; d < batchRank; ++d)
        exprs.push_back(rewriter.getAffineDimExpr(loops[d]));
      exprs.push_back(rewriter.getAffineConstantExpr(k));
      inputs.push_back(indices);
      maps.push_back(AffineMap::get(resultType.getRank(), 0, exprs,
                                    rewriter.getContext()));
    }
    auto generic = createParallelLoops(
        rewriter, loc, inputs, maps, init,
        [&](OpBuilder &b, Location l, ValueRange args) -> SmallVector<Value> {
          SmallVector<Value> coordinates;
          int64_t next = batchRank;
          for (int64_t d = 0; d < sourceType.getRank(); ++d) {
            auto *position = llvm::find(gathered, d);
            if (position == gathered.end()) {
              coordinates.push_back(
                  linalg::IndexOp::create(b, l, loops[next++]));
              continue;
            }
            coordinates.push_back(args[position - gathered.begin()]);
            if (keepsRank)
              ++next;
          }
          auto element =
              tensor::ExtractOp::create(b, l, gather.getSource(), coordinates);
          element->setAttr(kGuardedAttr, b.getUnitAttr());
          return {element.getResult()};
        });
    generic->setDiscardableAttrs(gather->getDiscardableAttrDictionary());
    rewriter.replaceOp(replaced, generic->getResults());
    if (replaced != gather)
      rewriter.eraseOp(gather);
    return success();
  }
};

/// tensor.scatter and dist.scatter_add: indices are checked like those of a
/// gather. Then loops over them write one slice each to its position, or add
/// it.
struct Scatter {
  Operation *op;
  TypedValue<RankedTensorType> source, dest, indices;
  ArrayRef<int64_t> dims;
  bool isAdded;
  StringRef what;

  LogicalResult rewrite(PatternRewriter &rewriter) const {
    RankedTensorType destType = dest.getType(), indicesType = indices.getType();
    if (!destType.hasStaticShape() || !source.getType().hasStaticShape() ||
        !indicesType.hasStaticShape())
      return rewriter.notifyMatchFailure(op, "dynamic shape");
    Location loc = op->getLoc();
    if (failForAny(rewriter, op, indices, destType, dims, what)) {
      rewriter.replaceOp(op, dest);
      return success();
    }
    Value checked = checkIndices(rewriter, op, indices, destType, dims, what);
    int64_t batchRank = indicesType.getRank() - 1;
    Value zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
    Value one = arith::ConstantIndexOp::create(rewriter, loc, 1);
    SmallVector<Value> from(batchRank, zero), to, step(batchRank, one);
    for (int64_t size : indicesType.getShape().drop_back())
      to.push_back(arith::ConstantIndexOp::create(rewriter, loc, size));
    scf::LoopNest nest = scf::buildLoopNest(
        rewriter, loc, from, to, step, Value(dest),
        [&](OpBuilder &b, Location at, ValueRange batch, ValueRange dest) {
          return scf::ValueVector{
              putSlice(b, at, checked, batch, dest.front())};
        });
    rewriter.replaceOp(op, nest.results.empty()
                               ? putSlice(rewriter, loc, checked, {}, dest)
                               : nest.results.front());
    return success();
  }

  /// `dest` with the slice that belongs to one position of the batch.
  Value putSlice(OpBuilder &b, Location loc, Value checked, ValueRange batch,
                 Value dest) const {
    auto destType = cast<RankedTensorType>(dest.getType());
    RankedTensorType sourceType = source.getType();
    ArrayRef<int64_t> slice = sourceType.getShape().drop_front(batch.size());
    OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);

    SmallVector<OpFoldResult> offsets(batch.begin(), batch.end());
    SmallVector<OpFoldResult> sizes(batch.size(), one);
    offsets.append(slice.size(), zero);
    for (int64_t size : slice)
      sizes.push_back(b.getIndexAttr(size));
    SmallVector<OpFoldResult> ones(offsets.size(), one);
    auto partType = RankedTensorType::get(slice, sourceType.getElementType());
    Value part = tensor::ExtractSliceOp::create(b, loc, partType, source,
                                                offsets, sizes, ones);

    offsets.assign(destType.getRank(), zero);
    sizes.clear();
    for (int64_t size : destType.getShape())
      sizes.push_back(b.getIndexAttr(size));
    ones.assign(destType.getRank(), one);
    for (auto [k, dim] : llvm::enumerate(dims)) {
      SmallVector<Value> position(batch.begin(), batch.end());
      position.push_back(arith::ConstantIndexOp::create(b, loc, k));
      offsets[dim] =
          tensor::ExtractOp::create(b, loc, checked, position).getResult();
      sizes[dim] = one;
    }
    if (isAdded) {
      Value there = tensor::ExtractSliceOp::create(b, loc, partType, dest,
                                                   offsets, sizes, ones);
      part = linalg::AddOp::create(b, loc, ValueRange{part, there}, there)
                 .getResult(0);
    }
    return tensor::InsertSliceOp::create(b, loc, part, dest, offsets, sizes,
                                         ones);
  }
};

struct ScatterToLoops : OpRewritePattern<tensor::ScatterOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tensor::ScatterOp scatter,
                                PatternRewriter &rewriter) const override {
    return Scatter{scatter,
                   scatter.getSource(),
                   scatter.getDest(),
                   scatter.getIndices(),
                   scatter.getScatterDims(),
                   /*isAdded=*/false,
                   "scatter"}
        .rewrite(rewriter);
  }
};

struct ScatterAddToLoops : OpRewritePattern<ScatterAddOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ScatterAddOp scatter,
                                PatternRewriter &rewriter) const override {
    return Scatter{scatter,           scatter.getSource(),
                   scatter.getDest(), scatter.getIndices(),
                   scatter.getDims(),
                   /*isAdded=*/true,  "scatter"}
        .rewrite(rewriter);
  }
};

/// A condition that is false ends the run with its message and position. In the
/// body of a linalg op, which becomes a kernel, the failure is stored, and the
/// rest of its block is skipped: the block yields zero. Elsewhere the run ends
/// there.
struct AssertToFail : OpRewritePattern<cf::AssertOp> {
  using OpRewritePattern::OpRewritePattern;

  /// The operands of the condition, if it is a comparison.
  static Value getJudged(cf::AssertOp check) {
    auto compare = check.getArg().getDefiningOp<arith::CmpIOp>();
    return compare && compare.getLhs().getType().isIntOrIndex()
               ? compare.getLhs()
               : Value();
  }

  LogicalResult matchAndRewrite(cf::AssertOp check,
                                PatternRewriter &rewriter) const override {
    Location loc = check.getLoc();
    Value status = getStatus(rewriter, check);
    std::string message = describePlace(loc) + ": " + check.getMsg().str();
    Value judged = getJudged(check);
    if (!check->getParentOfType<linalg::LinalgOp>()) {
      Value yes = arith::ConstantIntOp::create(rewriter, loc, 1, 1);
      Value bad = arith::XOrIOp::create(rewriter, loc, check.getArg(), yes);
      createFailIf(rewriter, loc, bad, status, message, judged);
      rt::CheckOp::create(rewriter, loc);
      rewriter.eraseOp(check);
      return success();
    }

    Operation *yield = check->getBlock()->getTerminator();
    SmallVector<Attribute> zeros;
    for (Type type : yield->getOperandTypes()) {
      zeros.push_back(rewriter.getZeroAttr(type));
      if (!zeros.back())
        return rewriter.notifyMatchFailure(check, "yields what has no zero");
    }
    auto guarded = scf::IfOp::create(rewriter, loc, yield->getOperandTypes(),
                                     check.getArg(), /*addThenBlock=*/true,
                                     /*addElseBlock=*/true);
    Block *rest = guarded.thenBlock();
    SmallVector<Operation *> after;
    for (Operation *op = guarded->getNextNode(); op != yield;
         op = op->getNextNode())
      if (op != check)
        after.push_back(op);
    for (Operation *op : after)
      rewriter.moveOpBefore(op, rest, rest->end());
    rewriter.setInsertionPointToEnd(rest);
    scf::YieldOp::create(rewriter, loc, yield->getOperands());
    rewriter.setInsertionPointToEnd(guarded.elseBlock());
    if (judged && !judged.getType().isIndex())
      judged = arith::IndexCastOp::create(rewriter, loc,
                                          rewriter.getIndexType(), judged);
    rt::FailOp::create(rewriter, loc, status, message, judged);
    SmallVector<Value> values;
    for (Attribute zero : zeros)
      values.push_back(
          arith::ConstantOp::create(rewriter, loc, cast<TypedAttr>(zero)));
    scf::YieldOp::create(rewriter, loc, values);
    rewriter.modifyOpInPlace(yield,
                             [&] { yield->setOperands(guarded.getResults()); });
    rewriter.eraseOp(check);
    return success();
  }
};

} // namespace

void mlir::dist::populateDecomposeIndexedPatterns(RewritePatternSet &patterns) {
  patterns
      .add<GatherToGeneric, ScatterToLoops, ScatterAddToLoops, AssertToFail>(
          patterns.getContext());
}
