//===- AttentionExpansion.cpp - Loops over tiles of attention -------------===//

#include "lowering/kernels/AttentionExpansion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::dist;

AttentionExpansion::View AttentionExpansion::scratch(Value buffer,
                                                     ArrayRef<unsigned> dims,
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

AttentionExpansion::View
AttentionExpansion::operand(unsigned number, Range queries, Range keys) {
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

/// Strides of an operand along two of the op's dimensions.
static std::pair<int64_t, int64_t> getStrides(AttentionLikeOpInterface op,
                                              unsigned number, unsigned first,
                                              unsigned second) {
  auto type = cast<MemRefType>(op->getOperand(number).getType());
  SmallVector<int64_t> strides = type.getStridesAndOffset().first;
  std::pair<int64_t, int64_t> result = {0, 0};
  for (auto [expr, stride] :
       llvm::zip_equal(op.getMap(number).getResults(), strides)) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (dim && dim.getPosition() == first)
      result.first = stride;
    if (dim && dim.getPosition() == second)
      result.second = stride;
  }
  return result;
}

void AttentionExpansion::keepCopy(unsigned number, ArrayRef<unsigned> dims) {
  auto type = cast<MemRefType>(op->getOperand(number).getType());
  auto [row, column] = getStrides(op, number, dims[0], dims[1]);
  int64_t timesRead =
      isOfQueries(dims)
          ? blocks.mostTiles
          : llvm::divideCeil(sizes[op.getQueryDim()], tiles.queries);
  bool liesSo =
      column == 1 && (op.getKeyDim() == dims[1] || row == sizes[dims[1]]);
  Type factor = getFactorType(number);
  if (factor == type.getElementType() && (timesRead == 1 || liesSo))
    return;
  int64_t rows = sizes[dims[0]];
  if (isOfQueries(dims))
    rows = std::min(tiles.queries, rows);
  copies.push_back({number, llvm::to_vector(dims),
                    allocateRows(rows, sizes[dims[1]], factor)});
}

void AttentionExpansion::fillCopy(const Copy &copy, Range queries) {
  Range keys = {b.getIndexAttr(0), sizes[op.getKeyDim()]};
  generic({operand(copy.number, queries, keys)},
          copyOrOperand(copy.number, queries, keys, copy.dims), copy.dims,
          [&](ValueRange v) {
            return v[0].getType() == v[1].getType() ? v[0] : widen(v[0]);
          });
}

void AttentionExpansion::fillKeyCopies(unsigned numBatches) {
  for (const Copy &copy : copies) {
    if (isOfQueries(copy.dims))
      continue;
    unsigned last = 0; // of the batches that it depends on
    for (AffineExpr expr : op.getMap(copy.number).getResults())
      if (auto dim = dyn_cast<AffineDimExpr>(expr))
        if (dim.getPosition() < op.getNumBatches())
          last = std::max(last, dim.getPosition() + 1);
    if (last == numBatches)
      fillCopy(copy, /*queries=*/{});
  }
}

void AttentionExpansion::fillQueryCopies(Range queries) {
  for (const Copy &copy : copies)
    if (isOfQueries(copy.dims))
      fillCopy(copy, queries);
}

AttentionExpansion::View
AttentionExpansion::copyOrOperand(unsigned number, Range queries, Range keys,
                                  ArrayRef<unsigned> dims) {
  const Copy *copy = llvm::find_if(copies, [&](const Copy &copy) {
    return copy.number == number &&
           (dims.empty() || ArrayRef(copy.dims) == dims);
  });
  if (copy == copies.end())
    return operand(number, queries, keys);
  SmallVector<OpFoldResult> offsets, extents, strides(2, b.getIndexAttr(1));
  for (unsigned dim : copy->dims) {
    Range range = {b.getIndexAttr(0), sizes[dim]};
    if (dim == op.getKeyDim())
      range = keys;
    else if (dim == op.getQueryDim())
      range.size = queries.size;
    offsets.push_back(range.start);
    extents.push_back(b.getIndexAttr(range.size));
  }
  return {memref::SubViewOp::create(b, copy->buffer, offsets, extents, strides),
          copy->dims};
}

linalg::GenericOp AttentionExpansion::generic(ArrayRef<View> inputs,
                                              ArrayRef<View> to,
                                              ArrayRef<unsigned> loops,
                                              Bodies body) {
  auto mapOf = [&](const View &view) {
    SmallVector<AffineExpr> places;
    for (unsigned dim : view.dims)
      places.push_back(
          b.getAffineDimExpr(llvm::find(loops, dim) - loops.begin()));
    return AffineMap::get(loops.size(), 0, places, b.getContext());
  };
  SmallVector<Value> buffers, outs;
  SmallVector<AffineMap> maps;
  for (const View &input : inputs) {
    buffers.push_back(input.buffer);
    maps.push_back(mapOf(input));
  }
  for (const View &view : to) {
    outs.push_back(view.buffer);
    maps.push_back(mapOf(view));
  }
  SmallVector<utils::IteratorType> kinds;
  for (unsigned dim : loops)
    kinds.push_back(llvm::is_contained(to.front().dims, dim)
                        ? utils::IteratorType::parallel
                        : utils::IteratorType::reduction);
  auto part = linalg::GenericOp::create(
      b, buffers, outs, maps, kinds,
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

void AttentionExpansion::fill(View to, const APFloat &value) {
  Value number = arith::ConstantOp::create(b, b.getFloatAttr(element, value));
  linalg::FillOp::create(b, ValueRange(number), ValueRange(to.buffer));
}

void AttentionExpansion::multiplyAdd(View a, View c, View to,
                                     ArrayRef<unsigned> loops) {
  generic({a, c}, to, loops, [&](ValueRange v) -> Value {
    Value product = arith::MulFOp::create(b, widen(v[0]), widen(v[1]));
    return arith::AddFOp::create(b, v[2], product);
  });
}

void AttentionExpansion::writeScores(Range queries, Range keys, View to) {
  fill(to, APFloat::getZero(element.getFloatSemantics()));
  multiplyAdd(copyOrOperand(0, queries, keys), copyOrOperand(1, queries, keys),
              to, {op.getQueryDim(), op.getKeyDim(), op.getFeatureDim()});
}

SmallVector<AttentionExpansion::View> AttentionExpansion::extras(Range queries,
                                                                 Range keys) {
  SmallVector<View> views;
  for (unsigned number = 0; number < op.getExtras().size(); ++number)
    views.push_back(operand(3 + number, queries, keys));
  return views;
}

SmallVector<Value> AttentionExpansion::writePlaces(Range queries, Range keys) {
  SmallVector<Value> places;
  for (OpFoldResult batch : batches)
    places.push_back(toValue(batch));
  places.push_back(toValue(queries.start));
  places.push_back(toValue(keys.start));
  return places;
}

Value AttentionExpansion::applyRegion(Region &region, ValueRange values,
                                      ArrayRef<Value> places, bool isPlain,
                                      unsigned yielded) {
  Block &body = region.front();
  IRMapping mapping;
  unsigned number = 0;
  for (Value value : values)
    mapping.map(body.getArgument(number++), value);
  for (auto [place, index] : llvm::enumerate(places)) {
    Value at = index;
    if (place >= op.getNumBatches())
      at = arith::AddIOp::create(
          b, index, linalg::IndexOp::create(b, place - op.getNumBatches()));
    mapping.map(body.getArgument(number++), at);
  }
  if (isPlain && &region == &op.getBody())
    for (auto [condition, value] :
         llvm::zip_equal(getConditions(op), blocks.plainConditions))
      mapping.map(condition, arith::ConstantIntOp::create(b, value, 1));
  for (Operation *inner : getMakers(region, yielded)) {
    if (inner->getNumResults() == 1 && mapping.contains(inner->getResult(0)))
      continue;
    Operation *clone = b.clone(*inner, mapping);
    SmallVector<Value> folded;
    if (failed(b.tryFold(clone, folded)) || folded.empty())
      continue;
    mapping.map(inner->getResults(), folded);
    clone->erase();
  }
  return mapping.lookupOrDefault(body.getTerminator()->getOperand(yielded));
}

void AttentionExpansion::overTiles(int64_t size, int64_t tile,
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

Value AttentionExpansion::getLargest(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  View result = {memref::AllocOp::create(b, MemRefType::get({}, element)), {}};
  fill(result, APFloat::getZero(element.getFloatSemantics()));
  SmallVector<unsigned> dims =
      llvm::to_vector(llvm::seq<unsigned>(0, type.getRank()));
  generic({View{buffer, dims}}, result, dims, [&](ValueRange v) -> Value {
    return arith::MaximumFOp::create(b, math::AbsFOp::create(b, widen(v[0])),
                                     v[1]);
  });
  return memref::LoadOp::create(b, result.buffer);
}

Value AttentionExpansion::getSmallest(View view) {
  View smallest = {memref::AllocOp::create(b, MemRefType::get({}, element)),
                   {}};
  fill(smallest, APFloat::getInf(element.getFloatSemantics()));
  generic({view}, smallest, view.dims, [&](ValueRange v) -> Value {
    return arith::MinimumFOp::create(b, v[0], v[1]);
  });
  return memref::LoadOp::create(b, smallest.buffer);
}

Value AttentionExpansion::writeProductTest(Value x, Value y, unsigned summed) {
  Value sum = arith::MulFOp::create(
      b, arith::MulFOp::create(b, getLargest(x), getLargest(y)),
      constant(sizes[summed]));
  return compare(arith::CmpFPredicate::OLE, sum, constant(getLargestScore(op)));
}

AttentionExpansion::NeededRow AttentionExpansion::readNeededRow(Range queries) {
  auto getTable = [&](memref::GlobalOp global) -> Value {
    return memref::GetGlobalOp::create(b, global.getType(),
                                       global.getSymName());
  };
  SmallVector<int64_t> bounds, places;
  for (auto [first, last] : blocks.rows)
    bounds.append({first, last});
  for (const KeyTiles &some : blocks.tiles)
    places.append({some.start, some.count, some.kind});
  Value rows = getTable(tables.get("attention_rows", bounds, 2, op.getLoc()));
  Value table = getTable(tables.get("attention_tiles", places, 3, op.getLoc()));
  // The device's rows, and the one of these queries.
  Value row = index(0);
  for (const Coordinate &coordinate : blocks.coordinates)
    row = arith::AddIOp::create(
        b, arith::MulIOp::create(b, row, index(coordinate.size)),
        coordinate.place);
  int64_t ofDevice = llvm::divideCeil(sizes[op.getQueryDim()], tiles.queries);
  row = arith::AddIOp::create(
      b, arith::MulIOp::create(b, row, index(ofDevice)),
      arith::DivUIOp::create(b, toValue(queries.start), index(tiles.queries)));
  return {table, readTable(rows, row, 0), readTable(rows, row, 1)};
}

Value AttentionExpansion::readTable(Value table, Value row, int64_t column) {
  Value entry =
      memref::LoadOp::create(b, table, ValueRange{row, index(column)});
  return arith::IndexCastOp::create(b, b.getIndexType(), entry);
}

void AttentionExpansion::writeTiles(Range queries, Value start, Value end,
                                    const NeededRow &row) {
  OpBuilder::InsertionGuard guard(b);
  auto entries = scf::ForOp::create(b, start, end, index(1));
  b.setInsertionPointToStart(entries.getBody());
  Value entry = entries.getInductionVar();
  Value first = readTable(row.table, entry, 0),
        count = readTable(row.table, entry, 1),
        ofKind = readTable(row.table, entry, 2);
  for (auto [number, kind] : llvm::enumerate(blocks.kinds)) {
    OpBuilder::InsertionGuard inner(b);
    // None of another kind.
    auto loop = scf::ForOp::create(
        b, index(0), select(equals(ofKind, number), count, index(0)), index(1));
    b.setInsertionPointToStart(loop.getBody());
    Value keys = arith::AddIOp::create(
        b, first,
        arith::MulIOp::create(b, loop.getInductionVar(), index(kind.keys)));
    writeKeys(queries, {keys, kind.keys}, kind.isPlain);
  }
}

void AttentionExpansion::overBatches(unsigned batch) {
  fillKeyCopies(batch);
  if (batch == op.getNumBatches())
    return overTiles(sizes[op.getQueryDim()], tiles.queries,
                     [&](Range queries) {
                       fillQueryCopies(queries);
                       writeQueries(queries);
                     });
  overTiles(sizes[batch], 1, [&](Range one) {
    batches.push_back(one.start);
    overBatches(batch + 1);
    batches.pop_back();
  });
}
