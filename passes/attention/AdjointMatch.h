//===- AdjointMatch.h - The adjoint of attention in linalg ------*- C++ -*-===//
//
// Recognises what differentiating attention leaves: the weights' cotangent,
// softmax's adjoint (passes/differentiate/SoftmaxAdjoints.cpp), whatever is
// elementwise behind it, and the products that end in the cotangents of
// queries, keys and values.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_ATTENTION_ADJOINTMATCH_H
#define DIST_PASSES_ATTENTION_ADJOINTMATCH_H

#include "passes/attention/AttentionMatch.h"

namespace mlir::dist {

class AdjointMatch {
public:
  explicit AdjointMatch(AttentionMatch &attention) : attention(attention) {}

  /// Whether all that reads the scores, or what is made of them, is the
  /// attention and its adjoint.
  LogicalResult match();
  /// Writes the op, of the results of `forward`, in the place of the products,
  /// which are added to `replaced`.
  void replace(AttentionOp forward, SmallVectorImpl<Operation *> &replaced);

private:
  /// A product that ends the adjoint, and which operand hangs on the scores.
  struct End {
    Product product;
    unsigned ofScores = 0;
    /// The map of the cotangent.
    AffineMap out;
    /// The product's operands, before padding of queries is filled in.
    Value operands[2];
    linalg::LinalgOp op() const { return product.op; }
    Value getOfScores() const { return operands[ofScores]; }
    Value getOther() const { return operands[1 - ofScores]; }
  };

  LogicalResult findEnds();
  /// The map of a tensor of which an element belongs to each score: from the
  /// attention's loops.
  FailureOr<AffineMap> getPlaces(Value tensor);
  LogicalResult matchEnds();
  LogicalResult matchWeightsEnd(End &end);
  LogicalResult matchScoresEnd(End &end, AffineMap places);
  /// The op's dimension of each of the product's loops, of which those that the
  /// scores lack are `rest`.
  FailureOr<SmallVector<AffineExpr>> getLoops(const End &end, AffineMap places,
                                              unsigned rest);
  /// Whether the product of an end adds up queries, of which those that are
  /// padding are filled in for both operands, or neither.
  LogicalResult matchPadding(const End &end, ArrayRef<AffineExpr> loops);
  /// `tensor` with `number` where a query is padding; the map is from the op's
  /// dimensions.
  Value fillPadding(OpBuilder &b, Value tensor, AffineMap map, double number);
  /// Whether the query with that index is none of padding.
  Value cloneIsQuery(OpBuilder &b, Value index);
  LogicalResult matchOfScores();
  LogicalResult matchOfX(Value product);
  Value getOfNumber(Value value);
  LogicalResult matchOfWeights(const ElementsOf::Leaf &leaf);
  AffineMap toDims(AffineMap map, ArrayRef<AffineExpr> loops) {
    return map.replaceDimsAndSymbols(loops, {}, attention.getNumDims(), 0);
  }
  /// `map` is of the elements' loops.
  AffineMap fromLoops(AffineMap map) {
    return toDims(map, attention.getDims());
  }

  AttentionMatch &attention;
  /// All ops that hang on the scores.
  DenseSet<Operation *> dependent;
  SmallVector<End> ends;
  std::optional<End> ofQuery, ofKey, ofValue;
  /// Where some queries are padding: whether one is none, in the body of an op
  /// that fills them.
  Value isQuery;
  /// The cotangent of the result, and its map.
  Value cotangent;
  AffineMap cotangentMap;
  /// Scalars: of a score, of x, and further leaves of the former.
  Value ofScores, ofX;
  SmallVector<Value> leaves;
};

} // namespace mlir::dist

#endif // DIST_PASSES_ATTENTION_ADJOINTMATCH_H
