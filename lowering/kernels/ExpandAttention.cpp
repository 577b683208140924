//===- ExpandAttention.cpp - Attention in tiles ---------------------------===//
//
// The sum over keys is taken tile by tile. For each query of a tile of queries
// there are the largest x so far (m), the sum of exp(x - m) (l) and of
// exp(x - m) * v (a); where a tile of keys moves m, l and a are scaled
// (Milakov, Gimelshein 2018; Dao et al. 2022). The result is a / l.
//
// Tiles in which masks leave nothing are skipped (AttentionBlocks.h), if that
// cannot be told from the result: x that are not skipped must be larger by so
// much that exp(x - m) of those that are is 0. So must scores be as small as
// the analysis takes them to be, and values be numbers, for 0 times infinity is
// NaN. That is tested at run time, and tiles are computed after all where it
// does not hold: in rows of which the mask leaves nothing, for instance.
//
//===----------------------------------------------------------------------===//

#include "lowering/kernels/ExpandAttention.h"
#include "lowering/kernels/AttentionBlocks.h"
#include "lowering/kernels/TileTables.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace mlir::dist;

namespace {

/// Some neighbouring queries or keys.
struct Range {
  OpFoldResult start;
  int64_t size;
};

class Expansion {
public:
  Expansion(AttentionOp op, AttentionTiles tiles, TileTables &tables)
      : op(op), tiles(tiles), tables(tables), b(op.getLoc(), op),
        sizes(op.getDimSizes()), element(op.getScoreType()),
        blocks(op, tiles.queries, tiles.keys) {}

  void run();

private:
  using Body = function_ref<Value(ValueRange)>;
  /// A buffer and its dimensions of the op.
  struct View {
    Value buffer;
    SmallVector<unsigned> dims;
  };

  void overBatches(unsigned batch);
  void overTiles(int64_t size, int64_t tile, function_ref<void(Range)> body);
  void writeQueries(Range queries);
  void writeNeeded(Range queries);
  /// Tiles of keys from `start` on, before `end`.
  void writeTiles(Range queries, Value start, Value end, Value plainStart,
                  Value plainEnd);
  /// A tile, in which the conditions of the body may be known.
  void writeKeys(Range queries, Range keys, bool isPlain);
  void writeScores(Range queries, Range keys, bool isPlain, View scores);
  void writeResults(Range queries);

  Value allocate(ArrayRef<int64_t> shape) {
    return memref::AllocOp::create(b, MemRefType::get(shape, element));
  }
  /// The first rows of a scratch buffer, whole columns where there are any.
  View scratch(Value buffer, ArrayRef<unsigned> dims, ArrayRef<int64_t> shape);
  /// What belongs to the current batches, some queries and keys.
  View operand(unsigned number, Range queries, Range keys);
  void fill(View to, const APFloat &value);
  /// One output, over the dimensions of `loops`; the body also takes what was
  /// there. Other dimensions than the output's are summed up.
  linalg::GenericOp generic(ArrayRef<View> inputs, View to,
                            ArrayRef<unsigned> loops, Body body);
  void multiplyAdd(View a, View c, View to, ArrayRef<unsigned> loops);
  Value constant(double value) {
    return arith::ConstantOp::create(b, b.getFloatAttr(element, value));
  }
  Value compare(arith::CmpFPredicate predicate, Value x, Value y) {
    return arith::CmpFOp::create(b, predicate, x, y);
  }
  /// What x is compared with in exponents: 0 while nothing is seen, for which
  /// exp(-inf - (-inf)) would be no number.
  Value pivot(Value largest) {
    Value none = compare(arith::CmpFPredicate::OEQ, largest,
                         constant(-std::numeric_limits<double>::infinity()));
    return arith::SelectOp::create(b, none, constant(0), largest);
  }

  /// The largest magnitude in a buffer.
  Value getLargest(Value buffer);
  /// Whether scores and values are as small as skipping takes them to be.
  Value writeMagnitudeTest();
  /// Whether every query has seen an x beside which those that are skipped have
  /// no weight.
  Value writeRowTest(Range queries);
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

  AttentionOp op;
  AttentionTiles tiles;
  TileTables &tables;
  ImplicitLocOpBuilder b;
  SmallVector<int64_t> sizes;
  FloatType element;
  AttentionBlocks blocks;
  /// Where tiles may be skipped: writeMagnitudeTest's.
  Value isSmall;
  /// Where the loops over batches stand.
  SmallVector<OpFoldResult> batches;
  /// Of one tile: scores, and of each query m, l and a.
  Value scores, largest, sums, means;
};

} // namespace

Expansion::View Expansion::scratch(Value buffer, ArrayRef<unsigned> dims,
                                   ArrayRef<int64_t> shape) {
  auto type = cast<MemRefType>(buffer.getType());
  if (type.getShape() != shape) {
    SmallVector<OpFoldResult> offsets(shape.size(), b.getIndexAttr(0)),
        strides(shape.size(), b.getIndexAttr(1));
    buffer = memref::SubViewOp::create(
        b, buffer, offsets, getAsIndexOpFoldResult(b.getContext(), shape),
        strides);
  }
  return {buffer, SmallVector<unsigned>(dims)};
}

Expansion::View Expansion::operand(unsigned number, Range queries, Range keys) {
  Value buffer = op->getOperand(number);
  auto type = cast<MemRefType>(buffer.getType());
  AffineMap map = op.getMap(number);
  SmallVector<OpFoldResult> offsets, extents,
      strides(type.getRank(), b.getIndexAttr(1));
  SmallVector<int64_t> shape;
  View view;
  for (auto [expr, size] : llvm::zip_equal(map.getResults(), type.getShape())) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    Range range = {b.getIndexAttr(0), size};
    bool isKept = dim && dim.getPosition() >= op.getNumBatches();
    if (dim && !isKept)
      range = {batches[dim.getPosition()], 1};
    else if (dim && dim.getPosition() == op.getQueryDim())
      range = queries;
    else if (dim && dim.getPosition() == op.getKeyDim())
      range = keys;
    offsets.push_back(range.start);
    extents.push_back(b.getIndexAttr(range.size));
    if (!isKept)
      continue;
    shape.push_back(range.size);
    view.dims.push_back(dim.getPosition());
  }
  MemRefType reduced = memref::SubViewOp::inferRankReducedResultType(
      shape, type, offsets, extents, strides);
  view.buffer =
      memref::SubViewOp::create(b, reduced, buffer, offsets, extents, strides);
  return view;
}

linalg::GenericOp Expansion::generic(ArrayRef<View> inputs, View to,
                                     ArrayRef<unsigned> loops, Body body) {
  auto mapOf = [&](const View &view) {
    SmallVector<AffineExpr> places;
    for (unsigned dim : view.dims)
      places.push_back(
          b.getAffineDimExpr(llvm::find(loops, dim) - loops.begin()));
    return AffineMap::get(loops.size(), 0, places, b.getContext());
  };
  SmallVector<Value> buffers;
  SmallVector<AffineMap> maps;
  for (const View &input : inputs) {
    buffers.push_back(input.buffer);
    maps.push_back(mapOf(input));
  }
  maps.push_back(mapOf(to));
  SmallVector<utils::IteratorType> kinds;
  for (unsigned dim : loops)
    kinds.push_back(llvm::is_contained(to.dims, dim)
                        ? utils::IteratorType::parallel
                        : utils::IteratorType::reduction);
  auto part = linalg::GenericOp::create(
      b, buffers, ValueRange(to.buffer), maps, kinds,
      [&](OpBuilder &builder, Location, ValueRange arguments) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPoint(builder.getInsertionBlock(),
                            builder.getInsertionPoint());
        linalg::YieldOp::create(b, body(arguments));
      });
  if (Attribute scope = op->getAttr(kScopeAttr))
    part->setAttr(kScopeAttr, scope);
  return part;
}

void Expansion::fill(View to, const APFloat &value) {
  Value number = arith::ConstantOp::create(b, b.getFloatAttr(element, value));
  linalg::FillOp::create(b, ValueRange(number), ValueRange(to.buffer));
}

void Expansion::multiplyAdd(View a, View c, View to, ArrayRef<unsigned> loops) {
  generic({a, c}, to, loops, [&](ValueRange v) -> Value {
    auto widen = [&](Value value) -> Value {
      if (value.getType() == element)
        return value;
      return arith::ExtFOp::create(b, element, value);
    };
    Value product = arith::MulFOp::create(b, widen(v[0]), widen(v[1]));
    return arith::AddFOp::create(b, v[2], product);
  });
}

/// x of a tile, in place of its scores.
void Expansion::writeScores(Range queries, Range keys, bool isPlain, View to) {
  unsigned i = op.getQueryDim(), j = op.getKeyDim();
  fill(to, APFloat::getZero(element.getFloatSemantics()));
  multiplyAdd(operand(0, queries, keys), operand(1, queries, keys), to,
              {i, j, op.getFeatureDim()});
  Block &body = op.getBody().front();
  if (body.getTerminator()->getOperand(0) == body.getArgument(0))
    return;
  SmallVector<View> inputs;
  for (unsigned number = 0; number < op.getExtras().size(); ++number)
    inputs.push_back(operand(3 + number, queries, keys));
  SmallVector<Value> indices;
  for (OpFoldResult batch : batches)
    indices.push_back(toValue(batch));
  SmallVector<Value> first = {toValue(queries.start), toValue(keys.start)};
  generic(inputs, to, {i, j}, [&](ValueRange v) -> Value {
    IRMapping mapping;
    mapping.map(body.getArgument(0), v.back());
    unsigned number = 1;
    for (Value extra : v.drop_back())
      mapping.map(body.getArgument(number++), extra);
    for (Value index : indices)
      mapping.map(body.getArgument(number++), index);
    for (auto [loop, start] : llvm::enumerate(first))
      mapping.map(
          body.getArgument(number++),
          arith::AddIOp::create(b, start, linalg::IndexOp::create(b, loop)));
    if (isPlain)
      for (auto [condition, value] :
           llvm::zip_equal(getConditions(op), blocks.plainConditions))
        mapping.map(condition, arith::ConstantIntOp::create(b, value, 1));
    for (Operation &inner : body.without_terminator())
      if (inner.getNumResults() != 1 || !mapping.contains(inner.getResult(0)))
        b.clone(inner, mapping);
    return mapping.lookupOrDefault(body.getTerminator()->getOperand(0));
  });
}

void Expansion::writeKeys(Range queries, Range keys, bool isPlain) {
  unsigned i = op.getQueryDim(), j = op.getKeyDim(), e = op.getValueDim();
  View x = scratch(scores, {i, j}, {queries.size, keys.size}),
       m = scratch(largest, {i}, queries.size),
       l = scratch(sums, {i}, queries.size),
       a = scratch(means, {i, e}, {queries.size, sizes[e]}),
       scale = {allocate(queries.size), {i}};
  writeScores(queries, keys, isPlain, x);
  generic({m}, scale, {i}, [&](ValueRange v) { return v[0]; });
  generic({x}, m, {i, j}, [&](ValueRange v) -> Value {
    return arith::MaximumFOp::create(b, v[0], v[1]);
  });
  generic({m}, scale, {i}, [&](ValueRange v) -> Value {
    return math::ExpOp::create(b, arith::SubFOp::create(b, v[1], pivot(v[0])));
  });
  generic({scale}, l, {i}, [&](ValueRange v) -> Value {
    return arith::MulFOp::create(b, v[1], v[0]);
  });
  generic({m}, x, {i, j}, [&](ValueRange v) -> Value {
    return math::ExpOp::create(b, arith::SubFOp::create(b, v[1], pivot(v[0])));
  });
  generic({x}, l, {i, j}, [&](ValueRange v) -> Value {
    return arith::AddFOp::create(b, v[1], v[0]);
  });
  generic({scale}, a, {i, e}, [&](ValueRange v) -> Value {
    return arith::MulFOp::create(b, v[1], v[0]);
  });
  multiplyAdd(x, operand(2, queries, keys), a, {i, e, j});
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
  if (op.getInits().size() == 2)
    generic({m, l}, operand(number + 1, queries, keys), {i},
            [&](ValueRange v) -> Value {
              return arith::AddFOp::create(b, v[0],
                                           math::LogOp::create(b, v[1]));
            });
}

void Expansion::overTiles(int64_t size, int64_t tile,
                          function_ref<void(Range)> body) {
  int64_t whole = size / tile * tile;
  if (whole > tile) {
    Value start = arith::ConstantIndexOp::create(b, 0);
    Value end = arith::ConstantIndexOp::create(b, whole);
    Value step = arith::ConstantIndexOp::create(b, tile);
    auto loop = scf::ForOp::create(b, start, end, step);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    body({loop.getInductionVar(), tile});
  } else if (whole > 0) {
    body({b.getIndexAttr(0), tile});
  }
  if (size > whole)
    body({b.getIndexAttr(whole), size - whole});
}

void Expansion::writeQueries(Range queries) {
  unsigned i = op.getQueryDim(), e = op.getValueDim();
  const llvm::fltSemantics &semantics = element.getFloatSemantics();
  fill(scratch(largest, {i}, queries.size),
       APFloat::getInf(semantics, /*Negative=*/true));
  fill(scratch(sums, {i}, queries.size), APFloat::getZero(semantics));
  fill(scratch(means, {i, e}, {queries.size, sizes[e]}),
       APFloat::getZero(semantics));
  if (blocks.skips)
    writeNeeded(queries);
  else
    overTiles(sizes[op.getKeyDim()], tiles.keys,
              [&](Range keys) { writeKeys(queries, keys, /*isPlain=*/false); });
  writeResults(queries);
}

Value Expansion::getLargest(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  View result = {memref::AllocOp::create(b, MemRefType::get({}, element)), {}};
  fill(result, APFloat::getZero(element.getFloatSemantics()));
  SmallVector<unsigned> dims =
      llvm::to_vector(llvm::seq<unsigned>(0, type.getRank()));
  generic({View{buffer, dims}}, result, dims, [&](ValueRange v) -> Value {
    return arith::MaximumFOp::create(b, math::AbsFOp::create(b, v[0]), v[1]);
  });
  return memref::LoadOp::create(b, result.buffer);
}

Value Expansion::writeMagnitudeTest() {
  Value scores =
      arith::MulFOp::create(b,
                            arith::MulFOp::create(b, getLargest(op.getQuery()),
                                                  getLargest(op.getKey())),
                            constant(sizes[op.getFeatureDim()]));
  Value limit = constant(kLargestScore);
  return arith::AndIOp::create(
      b, compare(arith::CmpFPredicate::OLE, scores, limit),
      compare(arith::CmpFPredicate::OLE, getLargest(op.getValue()), limit));
}

Value Expansion::writeRowTest(Range queries) {
  unsigned i = op.getQueryDim();
  View smallest = {memref::AllocOp::create(b, MemRefType::get({}, element)),
                   {}};
  fill(smallest, APFloat::getInf(element.getFloatSemantics()));
  generic({scratch(largest, {i}, queries.size)}, smallest, {i},
          [&](ValueRange v) -> Value {
            return arith::MinimumFOp::create(b, v[0], v[1]);
          });
  Value isAbove = compare(arith::CmpFPredicate::OGT,
                          memref::LoadOp::create(b, smallest.buffer),
                          constant(blocks.largestSkipped));
  return arith::AndIOp::create(b, isSmall, isAbove);
}

void Expansion::writeTiles(Range queries, Value start, Value end,
                           Value plainStart, Value plainEnd) {
  int64_t whole = sizes[op.getKeyDim()] / tiles.keys;
  int64_t rest = sizes[op.getKeyDim()] % tiles.keys;
  auto writeEither = [&](Value column, Range keys) {
    if (blocks.plainConditions.empty())
      return writeKeys(queries, keys, /*isPlain=*/false);
    Value isPlain = arith::AndIOp::create(
        b,
        arith::CmpIOp::create(b, arith::CmpIPredicate::sge, column, plainStart),
        arith::CmpIOp::create(b, arith::CmpIPredicate::slt, column, plainEnd));
    auto branch = scf::IfOp::create(b, isPlain, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    writeKeys(queries, keys, /*isPlain=*/true);
    b.setInsertionPointToStart(branch.elseBlock());
    writeKeys(queries, keys, /*isPlain=*/false);
  };
  OpBuilder::InsertionGuard guard(b);
  Value last = arith::MinSIOp::create(b, end, index(whole));
  auto loop = scf::ForOp::create(b, start, last, index(1));
  if (rest > 0) {
    Value isWanted = arith::AndIOp::create(
        b, equals(end, whole + 1),
        arith::CmpIOp::create(b, arith::CmpIPredicate::slt, start, end));
    auto branch = scf::IfOp::create(b, isWanted, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard inner(b);
    b.setInsertionPointToStart(branch.thenBlock());
    writeEither(index(whole), {b.getIndexAttr(whole * tiles.keys), rest});
  }
  b.setInsertionPointToStart(loop.getBody());
  Value column = loop.getInductionVar();
  Value first = arith::MulIOp::create(b, column, index(tiles.keys));
  writeEither(column, {first, tiles.keys});
}

/// First the tiles that are needed, then, where their results do not show that
/// this was right, those before and after them.
void Expansion::writeNeeded(Range queries) {
  memref::GlobalOp global = tables.get(blocks.rows, op.getLoc());
  Value table =
      memref::GetGlobalOp::create(b, global.getType(), global.getSymName());
  Value row =
      arith::DivUIOp::create(b, toValue(queries.start), index(tiles.queries));
  auto read = [&](int64_t column) -> Value {
    Value entry =
        memref::LoadOp::create(b, table, ValueRange{row, index(column)});
    return arith::IndexCastOp::create(b, b.getIndexType(), entry);
  };
  Value start = read(0), end = read(1), plainStart = read(2),
        plainEnd = read(3);
  auto loop = scf::ForOp::create(b, index(0), index(3), index(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value isFirst = equals(loop.getInductionVar(), 0);
  Value isLast = equals(loop.getInductionVar(), 2);
  Value isDone = writeRowTest(queries);
  Value from = select(isFirst, start, select(isLast, end, index(0)));
  int64_t columns = llvm::divideCeil(sizes[op.getKeyDim()], tiles.keys);
  Value to = select(isLast, index(columns), start);
  to = select(isFirst, end, select(isDone, from, to));
  writeTiles(queries, from, to, plainStart, plainEnd);
}

void Expansion::overBatches(unsigned batch) {
  if (batch == op.getNumBatches())
    return overTiles(sizes[op.getQueryDim()], tiles.queries,
                     [&](Range queries) { writeQueries(queries); });
  overTiles(sizes[batch], 1, [&](Range one) {
    batches.push_back(one.start);
    overBatches(batch + 1);
    batches.pop_back();
  });
}

void Expansion::run() {
  int64_t queries = std::min(tiles.queries, sizes[op.getQueryDim()]);
  scores = allocate({queries, std::min(tiles.keys, sizes[op.getKeyDim()])});
  largest = allocate(queries);
  sums = allocate(queries);
  means = allocate({queries, sizes[op.getValueDim()]});
  if (blocks.skips)
    isSmall = writeMagnitudeTest();
  overBatches(0);
  op.erase();
}

LogicalResult mlir::dist::expandAttentions(ModuleOp module,
                                           AttentionTiles tiles) {
  SmallVector<AttentionOp> ops;
  module.walk([&](AttentionOp op) { ops.push_back(op); });
  TileTables tables(module);
  for (AttentionOp op : ops) {
    if (op->getNumResults() > 0)
      return op.emitOpError("is on tensors: it is expanded on buffers");
    if (llvm::is_contained(op.getDimSizes(), ShapedType::kDynamic))
      return op.emitOpError("has sizes that are not known; only static shapes "
                            "can be lowered");
    Expansion(op, tiles, tables).run();
  }
  return success();
}
