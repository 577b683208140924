//===- AttentionParts.h - What attention consists of ------------*- C++ -*-===//

#ifndef DIST_DIALECTS_DIST_IR_ATTENTIONPARTS_H
#define DIST_DIALECTS_DIST_IR_ATTENTIONPARTS_H

#include "dialects/dist/IR/Attention.h"

namespace mlir::dist {

/// Writes what attention and its adjoint have in common as linalg. Scores are
/// tensors of the batches, queries and keys.
class AttentionParts {
public:
  AttentionParts(AttentionLikeOpInterface op, OpBuilder &b);

  using Body = function_ref<Value(ValueRange)>;

  Value makeEmpty(AffineMap map, Type type);
  Value fill(Value tensor, APFloat value);
  /// Loops over the dimensions of `of`, of which those that `init` lacks are
  /// summed up.
  Value generic(ValueRange inputs, ArrayRef<AffineMap> maps, Value init,
                AffineMap initMap, AffineMap of, Body body);
  /// The sum of products, in place of what `init` holds.
  Value contract(Value a, AffineMap mapA, Value c, AffineMap mapC, Value init,
                 AffineMap initMap);
  Value writeScores();
  /// What a region makes of each score, or of `perScore`, all as large as the
  /// scores: what it yields with that number.
  Value applyRegion(Region &region, ValueRange perScore, unsigned yielded = 0);
  /// `weights`, 0 where the body says that they are not kept.
  Value dropWeights(Value weights, Value scores);
  /// Of a weight: 0 where it is NaN, with `nan_is_zero`.
  Value guard(Value weight) { return selectNumber(weight, weight); }
  /// `value`, or 0 where the weight is NaN, with `nan_is_zero`.
  Value selectNumber(Value weight, Value value);
  APFloat number(bool isInfinite) const;
  /// A number as one of the type of scores.
  Value widen(Value number);
  AffineMap mapOf(ArrayRef<unsigned> dims);

  AttentionLikeOpInterface op;
  OpBuilder &b;
  Location loc;
  FloatType element;
  /// The dimensions of scores, and of one number for each query.
  AffineMap all, rows;

private:
  /// The size of a dimension, from an operand that has it.
  OpFoldResult getSize(unsigned dim);
};

} // namespace mlir::dist

#endif // DIST_DIALECTS_DIST_IR_ATTENTIONPARTS_H
