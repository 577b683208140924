//===- AttentionParts.h - Parts of attention as linalg ops ------*- C++ -*-===//

#ifndef DIST_DIALECTS_DIST_IR_ATTENTIONPARTS_H
#define DIST_DIALECTS_DIST_IR_ATTENTIONPARTS_H

#include "dialects/dist/IR/Attention.h"

namespace mlir::dist {

/// Writes the common parts of attention and its adjoint as linalg ops. Scores
/// are tensors of the batches, queries and keys.
class AttentionParts {
public:
  AttentionParts(AttentionLikeOpInterface op, OpBuilder &b);

  using Body = function_ref<Value(ValueRange)>;

  Value makeEmpty(AffineMap map, Type type);
  Value fill(Value tensor, APFloat value);
  /// Loops over the dimensions of `of`; those that `init` lacks are summed.
  Value generic(ValueRange inputs, ArrayRef<AffineMap> maps, Value init,
                AffineMap initMap, AffineMap of, Body body);
  /// The sum of products, replacing what `init` holds.
  Value contract(Value a, AffineMap mapA, Value c, AffineMap mapC, Value init,
                 AffineMap initMap);
  Value writeScores();
  /// Applies a region to each score, or to `perScore`, which are as large as
  /// the scores. The result is the value that it yields with that number.
  Value applyRegion(Region &region, ValueRange perScore, unsigned yielded = 0);
  /// `weights`, with 0 for those that the body does not keep.
  Value dropWeights(Value weights, Value scores);
  /// A weight, or 0 if it is NaN, with `nan_is_zero`.
  Value guard(Value weight) { return selectNumber(weight, weight); }
  /// `value`, or 0 if the weight is NaN, with `nan_is_zero`.
  Value selectNumber(Value weight, Value value);
  APFloat number(bool isInfinite) const;
  /// A number, converted to the type of scores.
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
