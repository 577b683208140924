//===- AttentionExpansion.h - Loops over tiles of attention -----*- C++ -*-===//
//
// Common parts of attention and its adjoint when they become loops over
// batches, tiles of queries and tiles of keys.
//
// Tiles that masks exclude are skipped (AttentionBlocks.h), if that does not
// change the result. The x that are not skipped must be so much larger that
// exp(x - m) is 0 for the skipped ones. Scores must be within the bounds of the
// analysis, and values must be finite, since 0 times infinity is NaN. That is
// tested at run time. If it is false, for instance in rows that a mask excludes
// completely, the tiles are computed after all.
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
  /// Some consecutive queries or keys.
  struct Range {
    OpFoldResult start;
    int64_t size;
  };
  /// A buffer and the op's dimensions that it has.
  struct View {
    Value buffer;
    SmallVector<unsigned> dims;
  };
  /// For a tile of queries: the entries of the program's table of tiles that
  /// are needed.
  struct NeededRow {
    Value table, start, end;
  };
  /// A copy of an operand, in the order that a product reads fastest, with the
  /// type of scores.
  struct Copy {
    unsigned number;
    /// The order of its dimensions in memory.
    SmallVector<unsigned> dims;
    Value buffer;
  };
  using Body = function_ref<Value(ValueRange)>;
  using Bodies = function_ref<SmallVector<Value>(ValueRange)>;

  /// The state for some queries of the current batches.
  virtual void writeQueries(Range queries) = 0;
  /// A tile, in which the conditions of the body may be known.
  virtual void writeKeys(Range queries, Range keys, bool isPlain) = 0;

  void overBatches(unsigned batch = 0);
  void overTiles(int64_t size, int64_t tile, function_ref<void(Range)> body);
  /// Entries of the table of tiles from `start` on, before `end`.
  void writeTiles(Range queries, Value start, Value end, const NeededRow &row);
  NeededRow readNeededRow(Range queries);
  Value readTable(Value table, Value row, int64_t column);
  /// The first entries of the table, which cover all keys.
  int64_t getNumColumns() { return blocks.numAll; }

  /// The scores of a tile.
  void writeScores(Range queries, Range keys, View to);
  /// The operands of the regions besides scores and cotangents.
  SmallVector<View> extras(Range queries, Range keys);
  /// The first batches, queries and keys, for applyRegion.
  SmallVector<Value> writePlaces(Range queries, Range keys);
  /// In a loop over queries and keys: the value that a region of the op yields
  /// with that number, for its arguments without the indices.
  Value applyRegion(Region &region, ValueRange values, ArrayRef<Value> places,
                    bool isPlain, unsigned yielded = 0);

  /// With the type of scores, or another.
  Value allocate(ArrayRef<int64_t> shape, Type type = {}) {
    return memref::AllocOp::create(
        b, MemRefType::get(shape, type ? type : element));
  }
  /// A buffer for scores of a tile or the like. Rows are not a power of two
  /// apart, since these would use the same cache sets.
  Value allocateRows(int64_t rows, int64_t columns, Type type = {}) {
    return allocate(
        {rows, columns % (8 * kRowGap) ? columns : columns + kRowGap}, type);
  }
  /// The type that products read of an operand.
  Type getFactorType(unsigned number) {
    Type type = getElementTypeOrSelf(op->getOperand(number).getType());
    return tiles.hasProducts(type, element) ? type : Type(element);
  }
  /// The first rows of a scratch buffer; whole columns if it has any.
  View scratch(Value buffer, ArrayRef<unsigned> dims, ArrayRef<int64_t> shape);
  /// The part of an operand for the current batches, some queries and keys.
  View operand(unsigned number, Range queries, Range keys);
  /// From now on, products read the operand from a copy, in which the last
  /// dimension of `dims` is last and contiguous. There is no copy if it has
  /// that layout already, or is read once. Operands narrower than scores are
  /// widened if the library has no products of their type.
  void keepCopy(unsigned number, ArrayRef<unsigned> dims);
  /// Keys and values that depend on so many batches: one copy for all readers.
  void fillKeyCopies(unsigned numBatches);
  void fillQueryCopies(Range queries);
  void fillCopy(const Copy &copy, Range queries);
  bool isOfQueries(ArrayRef<unsigned> dims) {
    return llvm::is_contained(dims, op.getQueryDim());
  }
  /// The same as `operand`, from the copy if there is one.
  View copyOrOperand(unsigned number, Range queries, Range keys,
                     ArrayRef<unsigned> dims = {});
  void fill(View to, const APFloat &value);
  /// Over the dimensions of `loops`. The body also takes the old value.
  /// Dimensions that the output lacks are summed.
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
  /// A number, converted to the type of scores.
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
  /// Whether sums of products of x and y along a dimension are within the
  /// bounds that skipping assumes.
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
  /// The position of the loops over batches.
  SmallVector<OpFoldResult> batches;
  SmallVector<Copy> copies;
  /// Elements between rows of buffers for tiles: a line of the cache.
  static constexpr int64_t kRowGap = 16;
};

} // namespace mlir::dist

#endif // DIST_LOWERING_KERNELS_ATTENTIONEXPANSION_H
