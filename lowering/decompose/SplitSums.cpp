//===- SplitSums.cpp - Sums of many terms are sums of few -----------------===//
//
// One sum of many numbers loses small terms against the sum so far: for
// millions of f32 of one sign some thousandths (pairwise and blocked summation:
// Higham 1993). Kernels split sums that they carry in registers. A sum over
// rows adds to a row in memory, and is split here.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/Utils/Slices.h"
#include "lowering/buffers/Sums.h"
#include "lowering/decompose/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace mlir::dist {
#define GEN_PASS_DEF_DISTSPLITSUMS
#include "lowering/decompose/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

/// Whether a value in a body depends on an accumulator of the body other than
/// `sum`.
static bool hangsOnOthers(Value value, BlockArgument sum) {
  Block *body = sum.getOwner();
  unsigned first =
      cast<linalg::LinalgOp>(body->getParentOp()).getNumDpsInputs();
  SmallVector<Value> pending = {value};
  llvm::SmallPtrSet<Operation *, 8> seen;
  while (!pending.empty()) {
    Value next = pending.pop_back_val();
    if (next == sum || next.getParentBlock() != body)
      continue;
    if (auto argument = dyn_cast<BlockArgument>(next)) {
      if (argument.getArgNumber() >= first)
        return true;
      continue;
    }
    if (!seen.insert(next.getDefiningOp()).second)
      continue;
    if (next.getDefiningOp()->getNumRegions() > 0)
      return true;
    llvm::append_range(pending, next.getDefiningOp()->getOperands());
  }
  return false;
}

bool mlir::dist::isSum(Value yielded, BlockArgument sum) {
  // Where devices have rows of unequal numbers, some do not count.
  auto select = yielded.getDefiningOp<arith::SelectOp>();
  Value counted = yielded;
  if (select)
    counted = select.getTrueValue() == sum ? select.getFalseValue()
                                           : select.getTrueValue();
  auto add = counted.getDefiningOp<arith::AddFOp>();
  if (!add || !add->hasOneUse() || !llvm::is_contained(add->getOperands(), sum))
    return false;
  // Who reads the sum so far would read one of few terms, and a term that is
  // another sum so far would be that.
  if (hangsOnOthers(yielded, sum))
    return false;
  if (!select)
    return sum.hasOneUse();
  return sum.hasNUses(2) && select->hasOneUse() &&
         (select.getTrueValue() == sum || select.getFalseValue() == sum);
}

namespace {
/// How the terms of a sum are parted.
struct Parts {
  /// Loops that are cut into parts of one iteration.
  SmallVector<unsigned> apart;
  /// A part has `turns` iterations of this loop; empty if no loop is cut.
  std::optional<unsigned> cut;
  int64_t turns = 0;
};

class Splitter {
public:
  Splitter(linalg::GenericOp op, bool splitsWhole)
      : op(op), builder(op), loc(op.getLoc()), sizes(op.getStaticLoopRanges()),
        splitsWhole(splitsWhole) {}

  bool isLong();
  void split();

private:
  Parts choose();
  bool canCut(unsigned loop);
  AffineMap cutMap(AffineMap map, const Parts &parts);
  Value cutOperand(OpOperand *input, const Parts &parts, int64_t outer);
  Value cloneOp(Type type, ValueRange inputs, Value init,
                ArrayRef<AffineMap> maps, ArrayRef<utils::IteratorType> kinds,
                function_ref<Value(OpBuilder &, unsigned)> number);
  Value addParts(const Parts &parts);
  Value addRest(const Parts &parts);

  linalg::GenericOp op;
  OpBuilder builder;
  Location loc;
  SmallVector<int64_t> sizes;
  bool splitsWhole;
};
} // namespace

/// Whether many floats of 32 bits or less are added, in any order, to
/// contiguous elements, or to a scalar if such sums are split. (Not to a row of
/// one element: rows of one length are added in one order.)
bool Splitter::isLong() {
  if (op.getNumDpsInits() != 1 || op.getNumResults() != 1 ||
      op.getNumReductionLoops() == 0 ||
      llvm::any_of(sizes, ShapedType::isDynamic) ||
      llvm::is_contained(sizes, 0))
    return false;
  auto element =
      dyn_cast<FloatType>(getElementTypeOrSelf(op.getResultTypes().front()));
  AffineMap result = op.getIndexingMapsArray().back();
  if (!element || element.getWidth() > 32 || !result.isProjectedPermutation() ||
      result.getNumResults() != op.getNumParallelLoops())
    return false;
  int64_t terms = 1;
  for (auto [size, kind] : llvm::zip_equal(sizes, op.getIteratorTypesArray()))
    if (kind == utils::IteratorType::reduction)
      terms *= size;
    else if (kind != utils::IteratorType::parallel)
      return false;
  if (terms <= kMostTerms)
    return false;
  if (!isSum(op.getBody()->getTerminator()->getOperand(0),
             op.getRegionOutputArgs().front()))
    return false;
  // The operand that has all terms of all sums, one row after the other. (A
  // product of matrices has no such operand.)
  return llvm::any_of(op.getDpsInputOperands(), [&](OpOperand *input) {
    AffineMap map = op.getMatchingIndexingMap(input);
    if (!map.isPermutation())
      return false;
    if (op.getNumParallelLoops() == 0)
      return splitsWhole;
    // For contiguous results, without counting dimensions of one element.
    for (AffineExpr expr : llvm::reverse(map.getResults()))
      if (unsigned loop = cast<AffineDimExpr>(expr).getPosition();
          sizes[loop] > 1)
        return op.getIteratorTypesArray()[loop] ==
               utils::IteratorType::parallel;
    return false;
  });
}

/// Whether each operand that varies in the loop has a dimension of its own for
/// it.
bool Splitter::canCut(unsigned loop) {
  AffineExpr number = builder.getAffineDimExpr(loop);
  return llvm::all_of(op.getIndexingMapsArray(), [&](AffineMap map) {
    unsigned plain = 0;
    for (AffineExpr expr : map.getResults())
      if (expr == number)
        ++plain;
      else if (expr.isFunctionOfDim(loop))
        return false;
    return plain <= 1;
  });
}

/// From the innermost loop on, as many terms as fit into a part.
Parts Splitter::choose() {
  Parts parts;
  int64_t inside = 1;
  bool isFull = false;
  SmallVector<utils::IteratorType> kinds = op.getIteratorTypesArray();
  for (unsigned loop = sizes.size(); loop-- > 0;) {
    if (kinds[loop] != utils::IteratorType::reduction)
      continue;
    if (!isFull && inside * sizes[loop] <= kFewTerms) {
      inside *= sizes[loop];
      continue;
    }
    int64_t turns = std::max<int64_t>(1, kFewTerms / inside);
    if (!isFull && turns > 1 && canCut(loop)) {
      parts.cut = loop;
      parts.turns = turns;
    } else if (isFull || inside > 1) {
      parts.apart.insert(parts.apart.begin(), loop);
    }
    isFull = true;
  }
  return parts;
}

/// In the loops of a part, where the loop that is cut is two, the outer first.
AffineMap Splitter::cutMap(AffineMap map, const Parts &parts) {
  if (!parts.cut)
    return map;
  MLIRContext *context = builder.getContext();
  SmallVector<AffineExpr> loops;
  for (unsigned loop = 0; loop < sizes.size(); ++loop)
    loops.push_back(
        getAffineDimExpr(loop > *parts.cut ? loop + 1 : loop, context));
  AffineExpr cut = getAffineDimExpr(*parts.cut, context);
  SmallVector<AffineExpr> results;
  for (AffineExpr expr : map.getResults()) {
    results.push_back(expr.replaceDims(loops));
    if (expr == cut)
      results.push_back(getAffineDimExpr(*parts.cut + 1, context));
  }
  return AffineMap::get(sizes.size() + 1, 0, results, context);
}

/// The dimension of an operand that the loop moves along.
static std::optional<int64_t> findDim(AffineMap map, unsigned loop) {
  for (auto [dim, expr] : llvm::enumerate(map.getResults()))
    if (auto number = dyn_cast<AffineDimExpr>(expr);
        number && number.getPosition() == loop)
      return dim;
  return std::nullopt;
}

Value Splitter::cutOperand(OpOperand *input, const Parts &parts,
                           int64_t outer) {
  std::optional<int64_t> dim =
      parts.cut ? findDim(op.getMatchingIndexingMap(input), *parts.cut)
                : std::nullopt;
  if (!dim)
    return input->get();
  Value whole =
      sliceAlong(builder, loc, input->get(), *dim, 0, outer * parts.turns);
  auto type = cast<RankedTensorType>(whole.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[*dim] = parts.turns;
  shape.insert(shape.begin() + *dim, outer);
  SmallVector<ReassociationIndices> groups;
  for (int64_t i = 0, next = 0; i < type.getRank(); ++i) {
    groups.push_back({next++});
    if (i == *dim)
      groups.back().push_back(next++);
  }
  return tensor::ExpandShapeOp::create(
      builder, loc, RankedTensorType::get(shape, type.getElementType()), whole,
      groups);
}

/// The op with other operands and loops; `number` gives the index of one of its
/// loops.
Value Splitter::cloneOp(Type type, ValueRange inputs, Value init,
                        ArrayRef<AffineMap> maps,
                        ArrayRef<utils::IteratorType> kinds,
                        function_ref<Value(OpBuilder &, unsigned)> number) {
  auto made =
      linalg::GenericOp::create(builder, loc, type, inputs, init, maps, kinds);
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  IRMapping map;
  op.getRegion().cloneInto(&made.getRegion(), map);
  SmallVector<linalg::IndexOp> indices;
  made.walk([&](linalg::IndexOp index) { indices.push_back(index); });
  for (linalg::IndexOp index : indices) {
    OpBuilder b(index);
    index.getResult().replaceAllUsesWith(number(b, index.getDim()));
    index.erase();
  }
  return made.getResult(0);
}

/// A tensor of parts' sums.
Value Splitter::addParts(const Parts &parts) {
  int64_t outer = parts.cut ? sizes[*parts.cut] / parts.turns : 1;
  MLIRContext *context = builder.getContext();
  SmallVector<utils::IteratorType> kinds = op.getIteratorTypesArray();
  auto renumber = [&](unsigned loop) {
    return parts.cut && loop > *parts.cut ? loop + 1 : loop;
  };
  SmallVector<AffineExpr> results;
  SmallVector<int64_t> shape;
  for (unsigned loop : parts.apart) {
    kinds[loop] = utils::IteratorType::parallel;
    results.push_back(getAffineDimExpr(renumber(loop), context));
    shape.push_back(sizes[loop]);
  }
  if (parts.cut) {
    kinds.insert(kinds.begin() + *parts.cut, utils::IteratorType::parallel);
    results.push_back(getAffineDimExpr(*parts.cut, context));
    shape.push_back(outer);
  }
  SmallVector<AffineMap> maps;
  SmallVector<Value> inputs;
  for (OpOperand *input : op.getDpsInputOperands()) {
    maps.push_back(cutMap(op.getMatchingIndexingMap(input), parts));
    inputs.push_back(cutOperand(input, parts, outer));
  }
  auto type = cast<RankedTensorType>(op.getResultTypes().front());
  llvm::append_range(
      results, cutMap(op.getIndexingMapsArray().back(), parts).getResults());
  llvm::append_range(shape, type.getShape());
  maps.push_back(AffineMap::get(kinds.size(), 0, results, context));
  auto partial = RankedTensorType::get(shape, type.getElementType());
  Value none = arith::ConstantOp::create(
      builder, loc, builder.getFloatAttr(type.getElementType(), -0.0));
  Value init =
      tensor::EmptyOp::create(builder, loc, shape, type.getElementType());
  init = linalg::FillOp::create(builder, loc, none, init).getResult(0);
  return cloneOp(
      partial, inputs, init, maps, kinds,
      [&](OpBuilder &b, unsigned loop) -> Value {
        Value number = linalg::IndexOp::create(b, loc, renumber(loop));
        if (loop != parts.cut)
          return number;
        Value turns = arith::ConstantIndexOp::create(b, loc, parts.turns);
        Value turn = linalg::IndexOp::create(b, loc, loop + 1);
        return arith::AddIOp::create(
            b, loc, arith::MulIOp::create(b, loc, number, turns), turn);
      });
}

/// The initial value of the sum, and the iterations that are no whole part.
Value Splitter::addRest(const Parts &parts) {
  Value init = op.getDpsInits().front();
  int64_t rest = parts.cut ? sizes[*parts.cut] % parts.turns : 0;
  if (rest == 0)
    return init;
  int64_t first = sizes[*parts.cut] - rest;
  SmallVector<Value> inputs;
  for (OpOperand *input : op.getDpsInputOperands()) {
    std::optional<int64_t> dim =
        findDim(op.getMatchingIndexingMap(input), *parts.cut);
    inputs.push_back(
        dim ? sliceAlong(builder, loc, input->get(), *dim, first, rest)
            : input->get());
  }
  return cloneOp(
      op.getResultTypes().front(), inputs, init, op.getIndexingMapsArray(),
      op.getIteratorTypesArray(), [&](OpBuilder &b, unsigned loop) -> Value {
        Value number = linalg::IndexOp::create(b, loc, loop);
        if (loop != parts.cut)
          return number;
        return arith::AddIOp::create(
            b, loc, number, arith::ConstantIndexOp::create(b, loc, first));
      });
}

void Splitter::split() {
  Parts parts = choose();
  if (parts.apart.empty() && !parts.cut)
    return;
  Value partial = addParts(parts), init = addRest(parts);
  auto type = cast<RankedTensorType>(partial.getType());
  int64_t rank = type.getRank(),
          leading = parts.apart.size() + (parts.cut ? 1 : 0);
  SmallVector<utils::IteratorType> kinds(rank, utils::IteratorType::parallel);
  std::fill_n(kinds.begin(), leading, utils::IteratorType::reduction);
  AffineMap all = builder.getMultiDimIdentityMap(rank);
  auto rest = llvm::to_vector(llvm::seq<unsigned>(leading, rank));
  auto sum = linalg::GenericOp::create(
      builder, loc, op.getResultTypes(), partial, init,
      ArrayRef<AffineMap>{all, all.getSubMap(rest)}, kinds,
      [](OpBuilder &b, Location l, ValueRange args) {
        linalg::YieldOp::create(
            b, l, arith::AddFOp::create(b, l, args[1], args[0]).getResult());
      });
  sum->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  op.getResult(0).replaceAllUsesWith(sum.getResult(0));
  op.erase();
  // There may be many parts.
  if (Splitter again(sum, splitsWhole); again.isLong())
    again.split();
}

namespace {
struct SplitSums : dist::impl::DistSplitSumsBase<SplitSums> {
  using Base = dist::impl::DistSplitSumsBase<SplitSums>;
  using Base::Base;

  void runOnOperation() override {
    SmallVector<linalg::GenericOp> ops;
    getOperation().walk([&](linalg::GenericOp op) {
      if (op.hasPureTensorSemantics())
        ops.push_back(op);
    });
    for (linalg::GenericOp op : ops)
      if (Splitter splitter(op, wholeSums); splitter.isLong())
        splitter.split();
  }
};
} // namespace
