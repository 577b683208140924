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

#include "lowering/kernels/AttentionBlocks.h"
#include "lowering/kernels/TileTables.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::dist {

class AttentionExpansion {
public:
  AttentionExpansion(AttentionLikeOpInterface op, AttentionTiles tiles,
                     TileTables &tables)
      : op(op), tiles(tiles), tables(tables), b(op.getLoc(), op),
        sizes(op.getDimSizes()), element(op.getScoreType()),
        blocks(AttentionBlocks::getFastest(op, tiles)) {
    this->tiles.queries = blocks.queries;
  }
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
  /// Of a tile of queries: which entries of the program's table of tiles are
  /// needed.
  struct NeededRow {
    Value table, start, end;
  };
  /// A copy of an operand, in the order that a product reads fastest, and as
  /// wide as scores.
  struct Copy {
    unsigned number;
    /// The order of its dimensions in memory.
    SmallVector<unsigned> dims;
    Value buffer;
  };
  using Body = function_ref<Value(ValueRange)>;
  using Bodies = function_ref<SmallVector<Value>(ValueRange)>;

  /// What is done for some queries of the current batches.
  virtual void writeQueries(Range queries) = 0;
  /// A tile, in which the conditions of the body may be known.
  virtual void writeKeys(Range queries, Range keys, bool isPlain) = 0;

  void overBatches(unsigned batch = 0);
  void overTiles(int64_t size, int64_t tile, function_ref<void(Range)> body);
  /// Entries of the table of tiles from `start` on, before `end`.
  void writeTiles(Range queries, Value start, Value end, const NeededRow &row);
  NeededRow readNeededRow(Range queries);
  Value readTable(Value table, Value row, int64_t column);
  /// The first entries of the table that are all keys.
  int64_t getNumColumns() { return blocks.numAll; }

  /// The scores of a tile.
  void writeScores(Range queries, Range keys, View to);
  /// What the regions read beside scores and cotangents.
  SmallVector<View> extras(Range queries, Range keys);
  /// Where batches, queries and keys begin, for applyRegion.
  SmallVector<Value> writePlaces(Range queries, Range keys);
  /// In a loop over queries and keys: what a region of the op yields with that
  /// number, of its arguments but for the indices.
  Value applyRegion(Region &region, ValueRange values, ArrayRef<Value> places,
                    bool isPlain, unsigned yielded = 0);

  /// Of the type of scores, or another.
  Value allocate(ArrayRef<int64_t> shape, Type type = {}) {
    return memref::AllocOp::create(
        b, MemRefType::get(shape, type ? type : element));
  }
  /// Scores of a tile or the like. Rows that are a power of two apart would get
  /// into each other's way in the cache.
  Value allocateRows(int64_t rows, int64_t columns, Type type = {}) {
    return allocate(
        {rows, columns % (8 * kRowGap) ? columns : columns + kRowGap}, type);
  }
  /// The type of what products read of an operand.
  Type getFactorType(unsigned number) {
    Type type = getElementTypeOrSelf(op->getOperand(number).getType());
    return tiles.hasProducts(type, element) ? type : Type(element);
  }
  /// The first rows of a scratch buffer, whole columns where there are any.
  View scratch(Value buffer, ArrayRef<unsigned> dims, ArrayRef<int64_t> shape);
  /// What belongs to the current batches, some queries and keys.
  View operand(unsigned number, Range queries, Range keys);
  /// From now on products read the operand from a copy, whose last dimension is
  /// that of `dims` and contiguous, unless it lies so or is read once. What is
  /// narrower than scores is widened where there are no products of it.
  void keepCopy(unsigned number, ArrayRef<unsigned> dims);
  /// Keys and values that depend on so many batches: once for all that read
  /// them.
  void fillKeyCopies(unsigned numBatches);
  void fillQueryCopies(Range queries);
  void fillCopy(const Copy &copy, Range queries);
  bool isOfQueries(ArrayRef<unsigned> dims) {
    return llvm::is_contained(dims, op.getQueryDim());
  }
  /// The same as `operand`, from the copy if there is one.
  View copyOrOperand(unsigned number, Range queries, Range keys);
  void fill(View to, const APFloat &value);
  /// Over the dimensions of `loops`; the body also takes what was there. Other
  /// dimensions than the output's are summed up.
  linalg::GenericOp generic(ArrayRef<View> inputs, View to,
                            ArrayRef<unsigned> loops, Body body) {
    return generic(inputs, ArrayRef<View>(to), loops,
                   [&](ValueRange v) { return SmallVector<Value>{body(v)}; });
  }
  /// Outputs of the same dimensions.
  linalg::GenericOp generic(ArrayRef<View> inputs, ArrayRef<View> to,
                            ArrayRef<unsigned> loops, Bodies body);
  void multiplyAdd(View a, View c, View to, ArrayRef<unsigned> loops);

  Value constant(double value) {
    return arith::ConstantOp::create(b, b.getFloatAttr(element, value));
  }
  /// A number as one of the type of scores.
  Value widen(Value number) {
    if (number.getType() == element)
      return number;
    return arith::ExtFOp::create(b, element, number);
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
  SmallVector<Copy> copies;
  /// Elements between rows of what tiles are computed in: a line of the cache.
  static constexpr int64_t kRowGap = 16;
};

} // namespace mlir::dist

#endif // DIST_LOWERING_KERNELS_ATTENTIONEXPANSION_H
