//===- AttentionAdjoint.cpp - The parts of attention's adjoint ------------===//
//
// The meaning of dist.attention_adjoint, in linalg: all scores and weights
// again, the cotangents of weights and scores, three products, and sums of
// terms.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/AttentionParts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::dist;

FailureOr<SmallVector<Value>>
AttentionAdjointOp::decomposeOperation(OpBuilder &builder) {
  if (!hasPureTensorSemantics())
    return failure();
  AttentionParts parts(*this, builder);
  OpBuilder &b = parts.b;
  Location loc = parts.loc;
  AffineMap all = parts.all, rows = parts.rows;
  AffineMap out = getMap(getCotangentOperand());
  auto empty = [&](AffineMap map) {
    return parts.makeEmpty(map, parts.element);
  };
  Value scores = parts.writeScores();
  Value x = parts.applyRegion(getBody(), scores);
  // A row's sum of what comes back for its weights.
  SmallVector<unsigned> dims;
  for (AffineExpr expr : out.getResults())
    dims.push_back(cast<AffineDimExpr>(expr).getPosition());
  Value sums = parts.generic(
      {getCotangent(), getResult()}, {out, getMap(getResultOperand())},
      parts.fill(empty(rows), parts.number(false)), rows, parts.mapOf(dims),
      [&](ValueRange v) -> Value {
        Value product = arith::MulFOp::create(b, loc, parts.widen(v[0]), v[1]);
        return arith::AddFOp::create(b, loc, v[2], product);
      });
  Value weights = parts.generic(
      {x, getLargest(), getSums()},
      {all, getMap(getLargestOperand()), getMap(getSumsOperand())}, empty(all),
      all, all, [&](ValueRange v) -> Value {
        Value power = math::ExpOp::create(
            b, loc, arith::SubFOp::create(b, loc, v[0], v[1]));
        return arith::DivFOp::create(b, loc, power, v[2]);
      });
  Value ofWeights = parts.contract(getCotangent(), out, getValue(), getMap(2),
                                   empty(all), all);
  ofWeights = parts.dropWeights(ofWeights, scores);
  Value xCotangents = parts.generic(
      {weights, ofWeights, sums}, {all, all, rows}, empty(all), all, all,
      [&](ValueRange v) -> Value {
        // A weight of 1 has no other weights beside it.
        Value isOnly = arith::CmpFOp::create(
            b, loc, arith::CmpFPredicate::OEQ, v[0],
            arith::ConstantOp::create(b, loc,
                                      b.getFloatAttr(v[0].getType(), 1.0)));
        Value sum = arith::SelectOp::create(b, loc, isOnly, v[1], v[2]);
        Value less = arith::SubFOp::create(b, loc, v[1], sum);
        return parts.selectNumber(v[0],
                                  arith::MulFOp::create(b, loc, v[0], less));
      });
  Value scoreCotangents =
      parts.applyRegion(getAdjoint(), {scores, xCotangents});
  SmallVector<Value> totals;
  for (unsigned total = 0; total < getNumTotals(); ++total) {
    AffineMap map = getMap(getFirstTotal() + total);
    Value terms =
        parts.applyRegion(getAdjoint(), {scores, xCotangents}, 1 + total);
    totals.push_back(parts.generic(
        terms, all, parts.fill(getInits()[3 + total], parts.number(false)), map,
        all, [&](ValueRange v) -> Value {
          return arith::AddFOp::create(b, loc, v[1], v[0]);
        }));
  }
  if (getNanIsZero())
    weights = parts.generic(weights, all, empty(all), all, all,
                            [&](ValueRange v) { return parts.guard(v[0]); });
  weights = parts.dropWeights(weights, scores);
  unsigned init = getFirstInit();
  SmallVector<Value> results = {
      parts.contract(scoreCotangents, all, getKey(), getMap(1), getInits()[0],
                     getMap(init)),
      parts.contract(scoreCotangents, all, getQuery(), getMap(0), getInits()[1],
                     getMap(init + 1)),
      parts.contract(weights, all, getCotangent(), out, getInits()[2],
                     getMap(init + 2))};
  llvm::append_range(results, totals);
  return results;
}
