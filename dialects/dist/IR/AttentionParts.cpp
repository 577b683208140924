//===- AttentionParts.cpp - Attention as contractions and a softmax -------===//
//
// The meaning of dist.attention, in linalg: all scores, the body, the largest
// of each row, exponentials, their sums, quotients, and the product with the
// values.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/AttentionParts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::dist;

AttentionParts::AttentionParts(AttentionLikeOpInterface op, OpBuilder &b)
    : op(op), b(b), loc(op.getLoc()), element(op.getScoreType()) {
  SmallVector<unsigned> dims =
      llvm::to_vector(llvm::seq<unsigned>(0, op.getNumBatches()));
  dims.push_back(op.getQueryDim());
  rows = mapOf(dims);
  dims.push_back(op.getKeyDim());
  all = mapOf(dims);
}

APFloat AttentionParts::number(bool isInfinite) const {
  const llvm::fltSemantics &semantics = element.getFloatSemantics();
  return isInfinite ? APFloat::getInf(semantics, /*Negative=*/true)
                    : APFloat::getZero(semantics);
}

Value AttentionParts::widen(Value number) {
  if (number.getType() == element)
    return number;
  return arith::ExtFOp::create(b, loc, element, number);
}

AffineMap AttentionParts::mapOf(ArrayRef<unsigned> dims) {
  return AffineMap::getMultiDimMapWithTargets(op.getNumDims(), dims,
                                              b.getContext());
}

OpFoldResult AttentionParts::getSize(unsigned dim) {
  int64_t size = op.getDimSizes()[dim];
  if (!ShapedType::isDynamic(size))
    return b.getIndexAttr(size);
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMap(operand.getOperandNumber());
    for (auto [place, expr] : llvm::enumerate(map.getResults()))
      if (expr == b.getAffineDimExpr(dim))
        return tensor::getMixedSize(b, loc, operand.get(), place);
  }
  llvm_unreachable("the result has each batch, other operands the rest");
}

Value AttentionParts::makeEmpty(AffineMap map, Type type) {
  SmallVector<OpFoldResult> sizes;
  for (AffineExpr expr : map.getResults())
    sizes.push_back(getSize(cast<AffineDimExpr>(expr).getPosition()));
  return tensor::EmptyOp::create(b, loc, sizes, type);
}

Value AttentionParts::fill(Value tensor, APFloat value) {
  Type type = getElementTypeOrSelf(tensor.getType());
  Value number = arith::ConstantOp::create(b, loc, b.getFloatAttr(type, value));
  return linalg::FillOp::create(b, loc, number, tensor).getResult(0);
}

Value AttentionParts::generic(ValueRange inputs, ArrayRef<AffineMap> maps,
                              Value init, AffineMap initMap, AffineMap of,
                              Body body) {
  // Only the dimensions of `of` are loops.
  SmallVector<AffineExpr> renamed(op.getNumDims(), b.getAffineConstantExpr(0));
  SmallVector<utils::IteratorType> loops;
  for (auto [loop, expr] : llvm::enumerate(of.getResults())) {
    renamed[cast<AffineDimExpr>(expr).getPosition()] = b.getAffineDimExpr(loop);
    loops.push_back(llvm::is_contained(initMap.getResults(), expr)
                        ? utils::IteratorType::parallel
                        : utils::IteratorType::reduction);
  }
  SmallVector<AffineMap> local;
  for (AffineMap map : maps)
    local.push_back(map.replaceDimsAndSymbols(renamed, {}, loops.size(), 0));
  local.push_back(initMap.replaceDimsAndSymbols(renamed, {}, loops.size(), 0));
  auto part = linalg::GenericOp::create(
      b, loc, init.getType(), inputs, init, local, loops,
      [&](OpBuilder &, Location, ValueRange arguments) {
        linalg::YieldOp::create(b, loc, body(arguments));
      });
  if (Attribute scope = op->getAttr(kScopeAttr))
    part->setAttr(kScopeAttr, scope);
  return part.getResult(0);
}

Value AttentionParts::contract(Value a, AffineMap mapA, Value c, AffineMap mapC,
                               Value init, AffineMap initMap) {
  // All that occurs is a loop, in the order of dimensions.
  SmallVector<unsigned> dims;
  for (unsigned dim = 0; dim < op.getNumDims(); ++dim)
    if (mapA.isFunctionOfDim(dim) || mapC.isFunctionOfDim(dim) ||
        initMap.isFunctionOfDim(dim))
      dims.push_back(dim);
  return generic({a, c}, {mapA, mapC},
                 fill(init, APFloat::getZero(element.getFloatSemantics())),
                 initMap, mapOf(dims), [&](ValueRange v) -> Value {
                   Value product =
                       arith::MulFOp::create(b, loc, widen(v[0]), widen(v[1]));
                   return arith::AddFOp::create(b, loc, v[2], product);
                 });
}

Value AttentionParts::writeScores() {
  return contract(op.getQuery(), op.getMap(0), op.getKey(), op.getMap(1),
                  makeEmpty(all, element), all);
}

Value AttentionParts::applyRegion(Region &region, ValueRange perScore,
                                  unsigned yielded) {
  SmallVector<Value> inputs(perScore);
  SmallVector<AffineMap> maps(perScore.size(), all);
  for (auto [number, extra] : llvm::enumerate(op.getExtras())) {
    inputs.push_back(extra);
    maps.push_back(op.getMap(3 + number));
  }
  Type made = region.front().getTerminator()->getOperand(yielded).getType();
  return generic(inputs, maps, makeEmpty(all, made), all, all,
                 [&](ValueRange v) -> Value {
                   Block &body = region.front();
                   IRMapping mapping;
                   for (auto [argument, value] :
                        llvm::zip(body.getArguments(), v.drop_back()))
                     mapping.map(argument, value);
                   for (unsigned loop = 0; loop < all.getNumResults(); ++loop)
                     mapping.map(body.getArgument(inputs.size() + loop),
                                 linalg::IndexOp::create(b, loc, loop));
                   for (Operation &inner : body.without_terminator())
                     b.clone(inner, mapping);
                   return mapping.lookupOrDefault(
                       body.getTerminator()->getOperand(yielded));
                 });
}

Value AttentionParts::dropWeights(Value weights, Value scores) {
  if (!op.dropsWeights())
    return weights;
  Value kept = applyRegion(op.getBody(), scores, /*yielded=*/1);
  return generic({weights, kept}, {all, all}, makeEmpty(all, element), all, all,
                 [&](ValueRange v) -> Value {
                   Value zero = arith::ConstantOp::create(
                       b, loc, b.getFloatAttr(element, 0));
                   return arith::SelectOp::create(b, loc, v[1], v[0], zero);
                 });
}

Value AttentionParts::selectNumber(Value weight, Value value) {
  if (!op.getNanIsZero())
    return value;
  Value zero = arith::ConstantOp::create(b, loc, b.getFloatAttr(element, 0));
  Value isNan =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, weight, weight);
  return arith::SelectOp::create(b, loc, isNan, zero, value);
}

static SmallVector<Value> writeParts(AttentionOp op, OpBuilder &builder) {
  AttentionParts parts(op, builder);
  OpBuilder &b = parts.b;
  Location loc = parts.loc;
  FloatType element = parts.element;
  AffineMap all = parts.all, rows = parts.rows;
  Value scores = parts.writeScores();
  Value x = parts.applyRegion(op.getBody(), scores);
  Value largest = parts.generic(
      x, all, parts.fill(parts.makeEmpty(rows, element), parts.number(true)),
      rows, all, [&](ValueRange v) -> Value {
        return arith::MaximumFOp::create(b, loc, v[0], v[1]);
      });
  Value powers =
      parts.generic({x, largest}, {all, rows}, parts.makeEmpty(all, element),
                    all, all, [&](ValueRange v) -> Value {
                      Value difference =
                          arith::SubFOp::create(b, loc, v[0], v[1]);
                      return math::ExpOp::create(b, loc, difference);
                    });
  Value sums = parts.generic(
      powers, all,
      parts.fill(parts.makeEmpty(rows, element), parts.number(false)), rows,
      all, [&](ValueRange v) -> Value {
        return arith::AddFOp::create(b, loc, v[0], v[1]);
      });
  Type stored = getElementTypeOrSelf(op.getQuery().getType());
  Value weights =
      parts.generic({powers, sums}, {all, rows}, parts.makeEmpty(all, element),
                    all, all, [&](ValueRange v) -> Value {
                      return arith::DivFOp::create(b, loc, v[0], v[1]);
                    });
  // Apart from the softmax, whose adjoint is found by its parts.
  if (op.getNanIsZero())
    weights =
        parts.generic(weights, all, parts.makeEmpty(all, element), all, all,
                      [&](ValueRange v) { return parts.guard(v[0]); });
  weights = parts.dropWeights(weights, scores);
  if (stored != element)
    weights =
        parts.generic(weights, all, parts.makeEmpty(all, stored), all, all,
                      [&](ValueRange v) -> Value {
                        return arith::TruncFOp::create(b, loc, stored, v[0]);
                      });
  unsigned result = 3 + op.getExtras().size();
  AffineMap outMap = op.getMap(result);
  Value out = op.getInits()[0];
  Type made = getElementTypeOrSelf(out.getType());
  Value wide = made == element ? out : parts.makeEmpty(outMap, element);
  Value means =
      parts.contract(weights, all, op.getValue(), op.getMap(2), wide, outMap);
  if (made != element)
    means = parts.generic(means, outMap, out, outMap, outMap,
                          [&](ValueRange v) -> Value {
                            return arith::TruncFOp::create(b, loc, made, v[0]);
                          });
  SmallVector<Value> results = {means};
  if (op.getInits().size() == 3)
    for (unsigned which : {1, 2})
      results.push_back(parts.generic(
          which == 1 ? largest : sums, rows, op.getInits()[which],
          op.getMap(result + which), rows, [](ValueRange v) { return v[0]; }));

  if (op.getInits().size() == 2)
    results.push_back(parts.generic(
        {largest, sums}, {rows, rows}, op.getInits()[1], op.getMap(result + 1),
        rows, [&](ValueRange v) -> Value {
          // The sum over no keys at all is zero, whatever was added.
          Value logarithm = math::LogOp::create(b, loc, v[1]);
          Value infinity = arith::ConstantOp::create(
              b, loc, b.getFloatAttr(element, parts.number(true)));
          Value none = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ,
                                             v[0], infinity);
          return arith::SelectOp::create(
              b, loc, none, infinity,
              arith::AddFOp::create(b, loc, v[0], logarithm));
        }));
  return results;
}

FailureOr<SmallVector<Value>> AttentionOp::decomposeOperation(OpBuilder &b) {
  if (!hasPureTensorSemantics())
    return failure();
  return writeParts(*this, b);
}
