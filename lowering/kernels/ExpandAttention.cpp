//===- ExpandAttention.cpp - Attention in tiles ---------------------------===//
//
// The sum over keys is computed tile by tile. For each query of a tile of
// queries there are the largest x so far (m), the sum of exp(x - m) (l) and of
// exp(x - m) * v (a). If a tile of keys changes m, l and a are scaled (Milakov,
// Gimelshein 2018; Dao et al. 2022). The result is a / l.
//
//===----------------------------------------------------------------------===//

#include "lowering/kernels/ExpandAttention.h"
#include "dialects/dist/IR/Overlap.h"
#include "lowering/kernels/AttentionExpansion.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::dist;

namespace {

class Expansion : public AttentionExpansion {
public:
  Expansion(AttentionOp op, AttentionTiles tiles, TileTables &tables)
      : AttentionExpansion(op, tiles, tables), op(op) {}

  void run();

private:
  void writeQueries(Range queries) override;
  void writeKeys(Range queries, Range keys, bool isPlain) override;
  /// Nothing is seen yet.
  void writeStart(Range queries);
  void writeNeeded(Range queries);
  void writeX(Range queries, Range keys, bool isPlain, View x);
  void dropWeights(Range queries, Range keys, bool isPlain, View weights);
  void writeResults(Range queries);

  /// The number that is subtracted from x in exponents: 0 while nothing has
  /// been seen, since exp(-inf - (-inf)) would be NaN.
  Value pivot(Value largest) {
    Value none = compare(arith::CmpFPredicate::OEQ, largest,
                         constant(-std::numeric_limits<double>::infinity()));
    return arith::SelectOp::create(b, none, constant(0), largest);
  }

  /// Whether every query has seen an x beside which those that are skipped have
  /// no weight.
  Value writeRowTest(Range queries);

  AttentionOp op;
  /// Where tiles may be skipped: whether scores and values are as small as that
  /// takes them to be.
  Value isSmall;
  /// For one tile: scores, weights in the type of the product, and for each
  /// query m, l and a.
  Value scores, narrow, largest, sums, means;
};

} // namespace

/// x without a zero that is added to it: where conditions are known, all that
/// is left of many a mask. The sign of zero does not matter to exp(x - m).
static Value withoutZero(Value x) {
  auto sum = x.getDefiningOp<arith::AddFOp>();
  if (!sum)
    return x;
  if (matchPattern(sum.getRhs(), m_AnyZeroFloat()))
    return sum.getLhs();
  return matchPattern(sum.getLhs(), m_AnyZeroFloat()) ? sum.getRhs() : x;
}

/// x of a tile, replacing its scores.
void Expansion::writeX(Range queries, Range keys, bool isPlain, View x) {
  writeScores(queries, keys, x);
  Block &body = op.getBody().front();
  if (body.getTerminator()->getOperand(0) == body.getArgument(0))
    return;
  SmallVector<Value> places = writePlaces(queries, keys);
  linalg::GenericOp part = generic(
      extras(queries, keys), x, {op.getQueryDim(), op.getKeyDim()},
      [&](ValueRange v) -> Value {
        SmallVector<Value> values = {v.back()};
        llvm::append_range(values, v.drop_back());
        return withoutZero(applyRegion(op.getBody(), values, places, isPlain));
      });
  Block &result = part.getRegion().front();
  if (result.getTerminator()->getOperand(0) == result.getArguments().back())
    part.erase();
}

/// Zero for the weights of a tile that the body does not keep.
void Expansion::dropWeights(Range queries, Range keys, bool isPlain,
                            View weights) {
  if (!op.dropsWeights())
    return;
  SmallVector<Value> places = writePlaces(queries, keys);
  generic(extras(queries, keys), weights, {op.getQueryDim(), op.getKeyDim()},
          [&](ValueRange v) -> Value {
            SmallVector<Value> values = {constant(0)}; // no matter which score
            llvm::append_range(values, v.drop_back());
            Value kept = applyRegion(op.getBody(), values, places, isPlain,
                                     /*yielded=*/1);
            return select(kept, v.back(), constant(0));
          });
}

void Expansion::writeKeys(Range queries, Range keys, bool isPlain) {
  unsigned i = op.getQueryDim(), j = op.getKeyDim(), e = op.getValueDim();
  View x = scratch(scores, {i, j}, {queries.size, keys.size}),
       m = scratch(largest, {i}, queries.size),
       l = scratch(sums, {i}, queries.size),
       a = scratch(means, {i, e}, {queries.size, sizes[e]}),
       scale = {allocate(queries.size), {i}};
  writeX(queries, keys, isPlain, x);
  generic({m}, scale, {i}, [&](ValueRange v) { return v[0]; });
  // The sign of zero does not matter to exp(x - m).
  generic({x}, m, {i, j}, [&](ValueRange v) -> Value {
    return arith::MaximumFOp::create(b, v[0], v[1], arith::FastMathFlags::nsz);
  });
  // For all rows before any is read again: in one loop each row would wait for
  // its own largest x.
  FenceOp::create(b);
  generic({m}, scale, {i}, [&](ValueRange v) -> Value {
    return math::ExpOp::create(b, arith::SubFOp::create(b, v[1], pivot(v[0])));
  });
  generic({scale}, l, {i}, [&](ValueRange v) -> Value {
    return arith::MulFOp::create(b, v[1], v[0]);
  });
  FenceOp::create(b);
  generic({m}, x, {i, j}, [&](ValueRange v) -> Value {
    return math::ExpOp::create(b, arith::SubFOp::create(b, v[1], pivot(v[0])));
  });
  generic({x}, l, {i, j}, [&](ValueRange v) -> Value {
    return arith::AddFOp::create(b, v[1], v[0]);
  });
  generic({scale}, a, {i, e}, [&](ValueRange v) -> Value {
    return arith::MulFOp::create(b, v[1], v[0]);
  });
  dropWeights(queries, keys, isPlain, x);
  if (narrow) {
    View rounded = scratch(narrow, {i, j}, {queries.size, keys.size});
    generic({x}, rounded, {i, j}, [&](ValueRange v) -> Value {
      return arith::TruncFOp::create(b, v[1].getType(), v[0]);
    });
    x = rounded;
  }
  multiplyAdd(x, copyOrOperand(2, queries, keys), a, {i, e, j});
}

void Expansion::writeResults(Range queries) {
  unsigned i = op.getQueryDim(), e = op.getValueDim();
  Range keys = {b.getIndexAttr(0), sizes[op.getKeyDim()]};
  unsigned number = 3 + op.getExtras().size();
  View m = scratch(largest, {i}, queries.size),
       l = scratch(sums, {i}, queries.size),
       a = scratch(means, {i, e}, {queries.size, sizes[e]});
  generic({a, l}, operand(number, queries, keys), {i, e},
          [&](ValueRange v) -> Value {
            Value mean = arith::DivFOp::create(b, v[0], v[1]);
            if (op.getNanIsZero()) {
              // Neither a number nor more than nothing.
              Value none =
                  compare(arith::CmpFPredicate::UEQ, v[1], constant(0));
              mean = arith::SelectOp::create(b, none, constant(0), mean);
            }
            if (v[2].getType() != element)
              mean = arith::TruncFOp::create(b, v[2].getType(), mean);
            return mean;
          });
  if (op.getInits().size() == 3) {
    auto first = [](ValueRange v) { return v[0]; };
    generic({m}, operand(number + 1, queries, keys), {i}, first);
    generic({l}, operand(number + 2, queries, keys), {i}, first);
  }
  if (op.getInits().size() == 2)

    generic({m, l}, operand(number + 1, queries, keys), {i},
            [&](ValueRange v) -> Value {
              return arith::AddFOp::create(b, v[0],
                                           math::LogOp::create(b, v[1]));
            });
}

void Expansion::writeStart(Range queries) {
  unsigned i = op.getQueryDim(), e = op.getValueDim();
  const llvm::fltSemantics &semantics = element.getFloatSemantics();
  fill(scratch(largest, {i}, queries.size),
       APFloat::getInf(semantics, /*Negative=*/true));
  fill(scratch(sums, {i}, queries.size), APFloat::getZero(semantics));
  fill(scratch(means, {i, e}, {queries.size, sizes[e]}),
       APFloat::getZero(semantics));
}

void Expansion::writeQueries(Range queries) {
  writeStart(queries);
  if (blocks.skips)
    writeNeeded(queries);
  else
    overTiles(sizes[op.getKeyDim()], tiles.keys,
              [&](Range keys) { writeKeys(queries, keys, /*isPlain=*/false); });
  writeResults(queries);
}

Value Expansion::writeRowTest(Range queries) {
  Value smallest =
      getSmallest(scratch(largest, {op.getQueryDim()}, queries.size));
  Value isAbove = compare(arith::CmpFPredicate::OGT, smallest,
                          constant(blocks.largestSkipped));
  return arith::AndIOp::create(b, isSmall, isAbove);
}

/// First the tiles that are needed, then, where their results do not show that
/// this was right, all of them instead.
void Expansion::writeNeeded(Range queries) {
  NeededRow row = readNeededRow(queries);
  Value needsAll = equals(row.end, getNumColumns());
  auto loop = scf::ForOp::create(b, index(0), index(2), index(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value isFirst = equals(loop.getInductionVar(), 0);
  Value isDone = arith::OrIOp::create(b, writeRowTest(queries), needsAll);
  Value rest = select(isDone, index(0), index(getNumColumns()));
  Value from = select(isFirst, row.start, index(0));
  Value to = select(isFirst, row.end, rest);
  Value isAgain = arith::AndIOp::create(
      b, equals(loop.getInductionVar(), 1),
      arith::CmpIOp::create(b, arith::CmpIPredicate::slt, from, to));
  auto again = scf::IfOp::create(b, isAgain, /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard inner(b);
    b.setInsertionPointToStart(again.thenBlock());
    writeStart(queries);
  }
  writeTiles(queries, from, to, row);
}

void Expansion::run() {
  int64_t queries = std::min(tiles.queries, sizes[op.getQueryDim()]);
  scores = allocateRows(queries, std::min(tiles.keys, sizes[op.getKeyDim()]));
  if (Type factor = getFactorType(2); factor != element)
    narrow = allocateRows(queries, std::min(tiles.keys, sizes[op.getKeyDim()]),
                          factor);
  largest = allocate(queries);
  sums = allocate(queries);
  means = allocate({queries, sizes[op.getValueDim()]});
  if (blocks.skips) {
    Value areScores =
        writeProductTest(op.getQuery(), op.getKey(), op.getFeatureDim());
    Value areValues =
        compare(arith::CmpFPredicate::OLE, getLargest(op.getValue()),
                constant(kLargestScore));
    isSmall = arith::AndIOp::create(b, areScores, areValues);
  }
  unsigned i = op.getQueryDim(), j = op.getKeyDim(), d = op.getFeatureDim(),
           e = op.getValueDim();
  keepCopy(0, {i, d});
  keepCopy(1, {d, j});
  keepCopy(2, {j, e});
  overBatches();
  op.erase();
}

LogicalResult mlir::dist::expandAttentions(ModuleOp module,
                                           AttentionTiles tiles) {
  SmallVector<AttentionLikeOpInterface> ops;
  module.walk([&](AttentionLikeOpInterface op) { ops.push_back(op); });
  TileTables tables(module);
  for (AttentionLikeOpInterface op : ops) {
    if (op->getNumResults() > 0)
      return op->emitOpError("is on tensors: it is expanded on buffers");
    if (llvm::is_contained(op.getDimSizes(), ShapedType::kDynamic))
      return op->emitOpError("has sizes that are not known; only static shapes "
                             "can be lowered");
    if (auto adjoint = dyn_cast<AttentionAdjointOp>(op.getOperation()))
      expandAttentionAdjoint(adjoint, tiles, tables);
    else
      Expansion(cast<AttentionOp>(op.getOperation()), tiles, tables).run();
  }
  return success();
}
