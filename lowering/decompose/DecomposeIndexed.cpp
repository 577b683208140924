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
/// it. Where the target has `rt.scatter`, keys of the slices are sorted
/// instead.
struct Scatter {
  Operation *op;
  TypedValue<RankedTensorType> source, dest, indices;
  ArrayRef<int64_t> dims;
  bool isAdded;
  StringRef what;
  bool isSorted;

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
    if (isSorted && rewriteSorted(rewriter, checked))
      return success();
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

  bool rewriteSorted(PatternRewriter &rewriter, Value checked) const;
  Value makeKeys(OpBuilder &builder, Value checked, int64_t slices,
                 int64_t count) const;

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

Value extractGuarded(OpBuilder &b, Location loc, Value tensor,
                     ValueRange indices) {
  auto element = tensor::ExtractOp::create(b, loc, tensor, indices);
  element->setAttr(kGuardedAttr, b.getUnitAttr());
  return element;
}

/// `count` keys, a power of two: the row of each slice, and its number below.
/// Those beyond the slices are larger than all others.
Value Scatter::makeKeys(OpBuilder &builder, Value checked, int64_t slices,
                        int64_t count) const {
  Location loc = op->getLoc();
  ArrayRef<int64_t> batch = indices.getType().getShape().drop_back();
  Value init = tensor::EmptyOp::create(builder, loc, ArrayRef<int64_t>{count},
                                       builder.getI64Type());
  auto makeKey = [&](OpBuilder &b, Location l,
                     ValueRange) -> SmallVector<Value> {
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(b, l, value);
    };
    Value number = linalg::IndexOp::create(b, l, 0);
    Value isSlice = arith::CmpIOp::create(b, l, arith::CmpIPredicate::ult,
                                          number, constant(slices));
    Value slice = arith::SelectOp::create(b, l, isSlice, number, constant(0));
    SmallVector<Value> at = delinearize(b, l, slice, batch);
    at.push_back(nullptr);
    Value row = constant(0);
    for (auto [k, extent] : llvm::enumerate(getExtents(dest.getType(), dims))) {
      at.back() = constant(k);
      row = arith::AddIOp::create(
          b, l, arith::MulIOp::create(b, l, row, constant(extent)),
          extractGuarded(b, l, checked, at));
    }
    Value key = arith::AddIOp::create(
        b, l, arith::MulIOp::create(b, l, row, constant(count)), slice);
    key = arith::SelectOp::create(
        b, l, isSlice, key, constant(std::numeric_limits<int64_t>::max()));
    return {arith::IndexCastOp::create(b, l, b.getI64Type(), key)};
  };
  return createParallelLoops(builder, loc, {}, {}, init, makeKey).getResult(0);
}

/// Sorts runs of `size` keys: the key at a place of its run is the one that so
/// many others are less than.
Value sortRuns(OpBuilder &builder, Location loc, Value keys, int64_t size) {
  auto sort = [&](OpBuilder &b, Location l, ValueRange) -> SmallVector<Value> {
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(b, l, value);
    };
    Value zero = constant(0), one = constant(1), end = constant(size);
    Value number = linalg::IndexOp::create(b, l, 0);
    Value place = arith::RemUIOp::create(b, l, number, end);
    Value first = arith::SubIOp::create(b, l, number, place);
    auto forEach = [&](OpBuilder &b, Value init,
                       function_ref<Value(OpBuilder &, Value, Value)> body) {
      return scf::ForOp::create(
                 b, l, zero, end, one, init,
                 [&](OpBuilder &b, Location, Value at, ValueRange carried) {
                   at = arith::AddIOp::create(b, l, first, at);
                   Value key = extractGuarded(b, l, keys, at);
                   scf::YieldOp::create(b, l, body(b, key, carried[0]));
                 })
          .getResult(0);
    };
    // No key has the places of those beyond the slices: they are equal.
    Value largest = arith::ConstantIntOp::create(
        b, l, std::numeric_limits<int64_t>::max(), 64);
    return {forEach(b, largest, [&](OpBuilder &b, Value key, Value found) {
      Value less = forEach(b, zero, [&](OpBuilder &b, Value other, Value sum) {
        Value isLess =
            arith::CmpIOp::create(b, l, arith::CmpIPredicate::slt, other, key);
        return arith::AddIOp::create(
            b, l, sum, arith::SelectOp::create(b, l, isLess, one, zero));
      });
      Value isThis =
          arith::CmpIOp::create(b, l, arith::CmpIPredicate::eq, less, place);
      return arith::SelectOp::create(b, l, isThis, key, found);
    })};
  };
  Value init = tensor::EmptyOp::create(
      builder, loc, cast<RankedTensorType>(keys.getType()).getShape(),
      builder.getI64Type());
  return createParallelLoops(builder, loc, {}, {}, init, sort).getResult(0);
}

/// Sorted runs of `half` keys, a power of two, become runs of twice as many.
/// Bisection finds how many keys of the first half come before a place of their
/// run (merge path: Odeh, Green, Mwassi, Shmueli and Birk 2012).
Value mergeRuns(OpBuilder &builder, Location loc, Value keys, int64_t half) {
  auto merge = [&](OpBuilder &b, Location l, ValueRange) -> SmallVector<Value> {
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(b, l, value);
    };
    Value size = constant(half), zero = constant(0), one = constant(1);
    Value last = constant(half - 1), two = constant(2);
    Value number = linalg::IndexOp::create(b, l, 0);
    Value place = arith::RemUIOp::create(b, l, number, constant(2 * half));
    Value first = arith::SubIOp::create(b, l, number, place);
    Value second = arith::AddIOp::create(b, l, first, size);
    auto isLess = [&](OpBuilder &b, Value x, Value y) -> Value {
      return arith::CmpIOp::create(b, l, arith::CmpIPredicate::slt, x, y);
    };
    auto both = [&](OpBuilder &b, Value x, Value y) -> Value {
      return arith::AndIOp::create(b, l, x, y);
    };
    // The key at a place of the half that begins at `start`, or the one next to
    // it if there is no such place.
    auto keyAt = [&](OpBuilder &b, Value start, Value place) -> Value {
      place = arith::MaxSIOp::create(b, l, place, zero);
      place = arith::MinSIOp::create(b, l, place, last);
      return extractGuarded(
          b, l, keys, arith::AddIOp::create(b, l, start, place).getResult());
    };
    // Whether the key at `x` of the first half comes before that at `y` of the
    // second one.
    auto isBefore = [&](OpBuilder &b, Value x, Value y) -> Value {
      Value less = isLess(b, keyAt(b, first, x), keyAt(b, second, y));
      Value isNone =
          arith::CmpIOp::create(b, l, arith::CmpIPredicate::sge, y, size);
      return both(b, isLess(b, x, size),
                  arith::OrIOp::create(b, l, isNone, less));
    };
    Value steps = constant(llvm::Log2_64(half) + 1);
    auto search = scf::ForOp::create(
        b, l, zero, steps, one, ValueRange{zero, size},
        [&](OpBuilder &b, Location, Value, ValueRange carried) {
          Value count = carried[0], step = carried[1];
          Value more = arith::AddIOp::create(b, l, count, step);
          Value x = arith::SubIOp::create(b, l, more, one);
          Value y = arith::SubIOp::create(b, l, place, more);
          Value isThere = both(b, isBefore(b, x, y), isLess(b, x, place));
          scf::YieldOp::create(
              b, l,
              ValueRange{arith::SelectOp::create(b, l, isThere, more, count),
                         arith::DivUIOp::create(b, l, step, two)});
        });
    Value x = search.getResult(0);
    Value y = arith::SubIOp::create(b, l, place, x);
    return {arith::SelectOp::create(b, l, isBefore(b, x, y), keyAt(b, first, x),
                                    keyAt(b, second, y))};
  };
  Value init = tensor::EmptyOp::create(
      builder, loc, cast<RankedTensorType>(keys.getType()).getShape(),
      builder.getI64Type());
  return createParallelLoops(builder, loc, {}, {}, init, merge).getResult(0);
}

/// As rt.scatter. Not if the keys of so large tensors have no 64 bits.
bool Scatter::rewriteSorted(PatternRewriter &rewriter, Value checked) const {
  int64_t batchRank = indices.getType().getRank() - 1;
  int64_t slices = 1, rows = 1, limit = 0;
  for (int64_t size : indices.getType().getShape().drop_back())
    slices *= size;
  for (int64_t extent : getExtents(dest.getType(), dims))
    rows *= extent;
  int64_t count = llvm::PowerOf2Ceil(slices);
  if (llvm::MulOverflow(rows, count, limit))
    return false;
  if (source.getType().getNumElements() == 0) {
    rewriter.replaceOp(op, dest);
    return true;
  }
  Location loc = op->getLoc();
  Value keys = makeKeys(rewriter, checked, slices, count);
  // Of few keys, each is compared with each: one kernel in place of several.
  int64_t run = std::min<int64_t>(count, 32);
  keys = sortRuns(rewriter, loc, keys, run);
  for (; run < count; run *= 2)
    keys = mergeRuns(rewriter, loc, keys, run);
  auto sorted = rt::ScatterOp::create(rewriter, loc, dest.getType(), source,
                                      keys, dest, dims, batchRank, isAdded);
  if (Attribute scope = op->getAttr(kScopeAttr))
    sorted->setAttr(kScopeAttr, scope);
  rewriter.replaceOp(op, sorted.getResult());
  return true;
}

struct ScatterToLoops : OpRewritePattern<tensor::ScatterOp> {
  ScatterToLoops(MLIRContext *context, bool isSorted)
      : OpRewritePattern(context), isSorted(isSorted) {}

  LogicalResult matchAndRewrite(tensor::ScatterOp scatter,
                                PatternRewriter &rewriter) const override {
    return Scatter{scatter,
                   scatter.getSource(),
                   scatter.getDest(),
                   scatter.getIndices(),
                   scatter.getScatterDims(),
                   /*isAdded=*/false,
                   "scatter",
                   isSorted}
        .rewrite(rewriter);
  }

  bool isSorted;
};

struct ScatterAddToLoops : OpRewritePattern<ScatterAddOp> {
  ScatterAddToLoops(MLIRContext *context, bool isSorted)
      : OpRewritePattern(context), isSorted(isSorted) {}

  LogicalResult matchAndRewrite(ScatterAddOp scatter,
                                PatternRewriter &rewriter) const override {
    return Scatter{scatter,           scatter.getSource(),
                   scatter.getDest(), scatter.getIndices(),
                   scatter.getDims(),
                   /*isAdded=*/true,  "scatter",
                   isSorted}
        .rewrite(rewriter);
  }

  bool isSorted;
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

void mlir::dist::populateDecomposeIndexedPatterns(RewritePatternSet &patterns,
                                                  bool sortsScatters) {
  patterns.add<GatherToGeneric, AssertToFail>(patterns.getContext());
  patterns.add<ScatterToLoops, ScatterAddToLoops>(patterns.getContext(),
                                                  sortsScatters);
}
