//===- ExpandAttentionAdjoint.cpp - Attention's adjoint in tiles ----------===//
//
// Scores and weights of a tile are recomputed, from the largest x and the sum
// that forward kept for each query (Dao et al., "FlashAttention", 2022,
// algorithm 4). A tile's contributions to the three cotangents and to totals
// are added to the results.
//
//===----------------------------------------------------------------------===//

#include "lowering/kernels/AttentionExpansion.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::dist;

namespace {

class AdjointExpansion : public AttentionExpansion {
public:
  AdjointExpansion(AttentionAdjointOp op, AttentionTiles tiles,
                   TileTables &tables)
      : AttentionExpansion(op, tiles, tables), op(op) {}

  void run();

private:
  void writeQueries(Range queries) override;
  void writeKeys(Range queries, Range keys, bool isPlain) override;
  /// `value`, or 0 where the weight is NaN and counts as 0.
  Value ofNumber(Value weight, Value value) {
    if (!op.getNanIsZero())
      return value;
    return select(compare(arith::CmpFPredicate::UNO, weight, weight),
                  constant(0), value);
  }
  /// The factor of a product that a tile is: as narrow as the other factors, if
  /// these are multiplied so.
  View asFactor(View tile, Value narrow);
  /// Adds the terms of a tile to a total.
  void addTerms(unsigned total, View terms, Range queries, Range keys);
  Range allKeys() { return {b.getIndexAttr(0), sizes[op.getKeyDim()]}; }

  AttentionAdjointOp op;
  bool skips;
  /// If tiles may be skipped: whether the skipped weights would be 0.
  Value isSmall;
  /// For one tile: weights, cotangents of scores, and each query's sum of
  /// cotangents times results.
  Value weights, cotangents, sums;
  /// The first two in the type of their product.
  Value narrowWeights, narrowCotangents;
  /// Terms of totals that are not the cotangents of scores themselves.
  SmallVector<std::pair<Value, Value>> terms;
};

} // namespace

/// First those of the tile, which are few, then all of them.
void AdjointExpansion::addTerms(unsigned total, View terms, Range queries,
                                Range keys) {
  auto add = [&](ValueRange v) -> Value {
    return arith::AddFOp::create(b, v[1], v[0]);
  };
  View to = operand(op.getFirstTotal() + total, queries, keys);
  if (to.dims.size() < terms.dims.size()) {
    SmallVector<int64_t> shape(
        cast<MemRefType>(to.buffer.getType()).getShape());
    View ofTile = {allocate(shape), to.dims};
    fill(ofTile, APFloat::getZero(element.getFloatSemantics()));
    generic({terms}, ofTile, terms.dims, add);
    terms = ofTile;
  }
  generic({terms}, to, terms.dims, add);
}

AttentionExpansion::View AdjointExpansion::asFactor(View tile, Value narrow) {
  if (!narrow)
    return tile;
  View rounded = scratch(narrow, tile.dims,
                         cast<MemRefType>(tile.buffer.getType()).getShape());
  generic({tile}, rounded, tile.dims, [&](ValueRange v) -> Value {
    return arith::TruncFOp::create(b, v[1].getType(), v[0]);
  });
  return rounded;
}

void AdjointExpansion::writeKeys(Range queries, Range keys, bool isPlain) {
  unsigned i = op.getQueryDim(), j = op.getKeyDim(), d = op.getFeatureDim(),
           e = op.getValueDim();
  View p = scratch(weights, {i, j}, {queries.size, keys.size}),
       dx = scratch(cotangents, {i, j}, {queries.size, keys.size}),
       sum = scratch(sums, {i}, queries.size);
  View back = copyOrOperand(op.getCotangentOperand(), queries, keys);
  writeScores(queries, keys, p);
  fill(dx, APFloat::getZero(element.getFloatSemantics()));
  multiplyAdd(back, copyOrOperand(2, queries, keys), dx, {i, j, e});
  SmallVector<Value> places = writePlaces(queries, keys);
  SmallVector<View> inputs = {operand(op.getLargestOperand(), queries, keys),
                              operand(op.getSumsOperand(), queries, keys), sum};

  llvm::append_range(inputs, extras(queries, keys));
  SmallVector<View> outs = {p, dx};
  SmallVector<unsigned> yielded; // with terms of their own
  SmallVector<View> totalViews;
  for (auto [total, term] : llvm::enumerate(op.getTerms())) {
    const std::pair<Value, Value> *own = llvm::find_if(
        terms, [&](const auto &known) { return known.first == term; });
    View view = own == terms.end()
                    ? dx
                    : scratch(own->second, {i, j}, {queries.size, keys.size});
    totalViews.push_back(view);
    if (own != terms.end() && own == terms.begin() + yielded.size()) {
      outs.push_back(view);
      yielded.push_back(1 + total);
    }
  }
  generic(inputs, outs, {i, j}, [&](ValueRange v) {
    Value largest = v[0], numerators = v[1], ofRow = v[2];
    ValueRange before = v.take_back(outs.size());
    ValueRange read = v.drop_front(3).drop_back(outs.size());

    Value score = before[0], ofWeight = before[1];
    SmallVector<Value> values = {score};
    llvm::append_range(values, read);
    Value x = applyRegion(op.getBody(), values, places, isPlain);
    Value power = math::ExpOp::create(b, arith::SubFOp::create(b, x, largest));
    Value weight = arith::DivFOp::create(b, power, numerators);
    Value kept;
    if (op.dropsWeights()) {
      kept = applyRegion(op.getBody(), values, places, isPlain, /*yielded=*/1);
      ofWeight = select(kept, ofWeight, constant(0));
    }
    // A weight of 1 has no other weights beside it: its cotangent is the sum,
    // from which it may differ by rounding.
    ofRow = select(compare(arith::CmpFPredicate::OEQ, weight, constant(1)),
                   ofWeight, ofRow);
    Value xCotangents = ofNumber(
        weight, arith::MulFOp::create(
                    b, weight, arith::SubFOp::create(b, ofWeight, ofRow)));
    values.insert(values.begin() + 1, xCotangents);
    Value ofScore = applyRegion(op.getAdjoint(), values, places, isPlain);
    Value used = ofNumber(weight, weight);
    if (kept)
      used = select(kept, used, constant(0));
    SmallVector<Value> made = {used, ofScore};
    for (unsigned number : yielded)
      made.push_back(
          applyRegion(op.getAdjoint(), values, places, isPlain, number));
    return made;
  });
  for (auto [total, view] : llvm::enumerate(totalViews))
    addTerms(total, view, queries, keys);
  unsigned init = op.getFirstInit();
  View scoreCotangents = asFactor(dx, narrowCotangents);
  multiplyAdd(scoreCotangents, copyOrOperand(1, queries, keys, {j, d}),
              operand(init, queries, keys), {i, d, j});
  multiplyAdd(scoreCotangents, copyOrOperand(0, queries, keys),
              operand(init + 1, queries, keys), {j, d, i});
  multiplyAdd(asFactor(p, narrowWeights), back,
              operand(init + 2, queries, keys), {j, e, i});
}

void AdjointExpansion::writeQueries(Range queries) {
  unsigned i = op.getQueryDim(), e = op.getValueDim();
  Range keys = allKeys();
  View sum = scratch(sums, {i}, queries.size);
  fill(sum, APFloat::getZero(element.getFloatSemantics()));
  generic({operand(op.getCotangentOperand(), queries, keys),
           operand(op.getResultOperand(), queries, keys)},
          sum, {i, e}, [&](ValueRange v) -> Value {
            Value product = arith::MulFOp::create(b, widen(v[0]), v[1]);
            return arith::AddFOp::create(b, v[2], product);
          });
  if (!skips)
    return overTiles(sizes[op.getKeyDim()], tiles.keys, [&](Range keys) {
      writeKeys(queries, keys, /*isPlain=*/false);
    });
  Value smallest = getSmallest(operand(op.getLargestOperand(), queries, keys));

  Value isAbove = compare(arith::CmpFPredicate::OGT, smallest,
                          constant(blocks.largestSkipped));
  Value isEnough = arith::AndIOp::create(b, isSmall, isAbove);
  NeededRow row = readNeededRow(queries);
  writeTiles(queries, select(isEnough, row.start, index(0)),
             select(isEnough, row.end, index(getNumColumns())), row);
}

void AdjointExpansion::run() {
  int64_t queries = std::min(tiles.queries, sizes[op.getQueryDim()]);
  int64_t keys = std::min(tiles.keys, sizes[op.getKeyDim()]);
  weights = allocate({queries, keys});
  cotangents = allocate({queries, keys});
  sums = allocate(queries);
  if (Type factor = getFactorType(0); factor != element) {
    narrowWeights = allocate({queries, keys}, factor);
    narrowCotangents = allocate({queries, keys}, factor);
  }
  unsigned i = op.getQueryDim(), j = op.getKeyDim(), d = op.getFeatureDim(),
           e = op.getValueDim();
  keepCopy(0, {i, d});
  // Scores are the same product as forward's, in the same order: those of large
  // numbers would exceed the largest otherwise.
  keepCopy(1, {d, j});
  keepCopy(1, {j, d});
  keepCopy(2, {j, e});
  keepCopy(op.getCotangentOperand(), {i, e});
  auto yield = cast<AttentionYieldOp>(op.getAdjoint().front().getTerminator());
  for (Value term : op.getTerms())
    if (term != yield.getOperand() &&
        llvm::none_of(terms,
                      [&](const auto &known) { return known.first == term; }))
      terms.push_back({term, allocate({queries, keys})});
  for (Value init : op.getInits()) {
    auto rank = cast<MemRefType>(init.getType()).getRank();
    fill({init, llvm::to_vector(llvm::seq<unsigned>(0, rank))},
         APFloat::getZero(element.getFloatSemantics()));
  }
  skips = blocks.skips && isZeroOfZero(op, /*areExtrasSmall=*/true);
  if (skips)
    isSmall = arith::AndIOp::create(
        b, writeProductTest(op.getQuery(), op.getKey(), op.getFeatureDim()),
        writeProductTest(op.getCotangent(), op.getValue(), op.getValueDim()));
  if (skips && !isZeroOfZero(op))
    for (Value extra : op.getExtras())
      if (getElementTypeOrSelf(extra.getType()) == element)
        isSmall = arith::AndIOp::create(b, isSmall,
                                        compare(arith::CmpFPredicate::OLE,
                                                getLargest(extra),
                                                constant(kLargestScore)));
  overBatches();
  op.erase();
}

void mlir::dist::expandAttentionAdjoint(AttentionAdjointOp op,
                                        AttentionTiles tiles,
                                        TileTables &tables) {
  AdjointExpansion(op, tiles, tables).run();
}
