//===- AttentionExpansion.h - Loops over tiles of attention -----*- C++ -*-===//
//
// What attention and its adjoint have in common where they become loops over
// batches, tiles of queries and tiles of keys.
//
// Tiles in which masks leave nothing are skipped (AttentionBlocks.h), if that
// cannot be told from the result: x that are not skipped must be larger by so
// much that exp(x - m) of those that are is 0. So must scores be as small as
// the analysis takes them to be, and values be numbers, for 0 times infinity is
// NaN. That is tested at run time, and tiles are computed after all where it
// does not hold: in rows of which the mask leaves nothing, for instance.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_KERNELS_ATTENTIONEXPANSION_H
#define DIST_LOWERING_KERNELS_ATTENTIONEXPANSION_H

#include "lowering/kernels/ExpandAttention.h"
#include "lowering/kernels/TileTables.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::dist {

class AttentionExpansion {
public:
  AttentionExpansion(AttentionLikeOpInterface op, AttentionTiles tiles,
                     TileTables &tables)
      : op(op), tiles(tiles), tables(tables), b(op.getLoc(), op),
        sizes(op.getDimSizes()), element(op.getScoreType()),
        blocks(op, tiles.queries, tiles.keys) {}
  virtual ~AttentionExpansion() = default;

protected:
  /// Some neighbouring queries or keys.
  struct Range {
    OpFoldResult start;
    int64_t size;
  };
  /// A buffer and its dimensions of the op.
  struct View {
    Value buffer;
    SmallVector<unsigned> dims;
  };
  /// Of a tile of queries: NeededTiles, from the program's data.
  struct NeededRow {
    Value start, end, plainStart, plainEnd;
  };
  using Body = function_ref<Value(ValueRange)>;
  using Bodies = function_ref<SmallVector<Value>(ValueRange)>;

  /// What is done for some queries of the current batches.
  virtual void writeQueries(Range queries) = 0;
  /// A tile, in which the conditions of the body may be known.
  virtual void writeKeys(Range queries, Range keys, bool isPlain) = 0;

  void overBatches(unsigned batch = 0);
  void overTiles(int64_t size, int64_t tile, function_ref<void(Range)> body);
  /// Tiles of keys from `start` on, before `end`.
  void writeTiles(Range queries, Value start, Value end, const NeededRow &row);
  NeededRow readNeededRow(Range queries);
  int64_t getNumColumns() {
    return llvm::divideCeil(sizes[op.getKeyDim()], tiles.keys);
  }

  /// The scores of a tile.
  void writeScores(Range queries, Range keys, View to);
  /// What the regions read beside scores and cotangents.
  SmallVector<View> extras(Range queries, Range keys);
  /// Where batches, queries and keys begin, for applyRegion.
  SmallVector<Value> writePlaces(Range queries, Range keys);
  /// In a loop over queries and keys: a region of the op, of its arguments but
  /// for the indices.
  Value applyRegion(Region &region, ValueRange values, ArrayRef<Value> places,
                    bool isPlain);

  Value allocate(ArrayRef<int64_t> shape) {
    return memref::AllocOp::create(b, MemRefType::get(shape, element));
  }
  /// The first rows of a scratch buffer, whole columns where there are any.
  View scratch(Value buffer, ArrayRef<unsigned> dims, ArrayRef<int64_t> shape);
  /// What belongs to the current batches, some queries and keys.
  View operand(unsigned number, Range queries, Range keys);
  void fill(View to, const APFloat &value);
  /// Over the dimensions of `loops`; the body also takes what was there. Other
  /// dimensions than the output's are summed up.
  void generic(ArrayRef<View> inputs, View to, ArrayRef<unsigned> loops,
               Body body) {
    generic(inputs, ArrayRef<View>(to), loops,
            [&](ValueRange v) { return SmallVector<Value>{body(v)}; });
  }
  /// Outputs of the same dimensions.
  void generic(ArrayRef<View> inputs, ArrayRef<View> to,
               ArrayRef<unsigned> loops, Bodies body);
  void multiplyAdd(View a, View c, View to, ArrayRef<unsigned> loops);

  Value constant(double value) {
    return arith::ConstantOp::create(b, b.getFloatAttr(element, value));
  }
  Value compare(arith::CmpFPredicate predicate, Value x, Value y) {
    return arith::CmpFOp::create(b, predicate, x, y);
  }
  /// The largest magnitude in a buffer.
  Value getLargest(Value buffer);
  Value getSmallest(View view);
  /// Whether sums of products of x and y along a dimension are as small as
  /// skipping takes them to be.
  Value writeProductTest(Value x, Value y, unsigned summed);
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  Value equals(Value x, int64_t value) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, x, index(value));
  }
  Value select(Value condition, Value yes, Value no) {
    return arith::SelectOp::create(b, condition, yes, no);
  }
  Value toValue(OpFoldResult place) {
    return getValueOrCreateConstantIndexOp(b, b.getLoc(), place);
  }

  AttentionLikeOpInterface op;
  AttentionTiles tiles;
  TileTables &tables;
  ImplicitLocOpBuilder b;
  SmallVector<int64_t> sizes;
  FloatType element;
  AttentionBlocks blocks;
  /// Where the loops over batches stand.
  SmallVector<OpFoldResult> batches;
};

} // namespace mlir::dist

#endif // DIST_LOWERING_KERNELS_ATTENTIONEXPANSION_H
