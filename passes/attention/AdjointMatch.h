//===- AdjointMatch.h - The adjoint of attention in linalg ------*- C++ -*-===//
//
// Recognises what differentiating attention leaves: the weights' cotangent,
// softmax's adjoint (passes/differentiate/SoftmaxAdjoints.cpp), whatever is
// elementwise behind it, and the products that end in the cotangents of
// queries, keys and values. What else is made of the scores' cotangents, as the
// cotangent of a bias is, becomes totals of the op: sums, where sums are taken.
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
  /// attention and its adjoint, or a total of it.
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
    AffineMap out = {};
    /// The product's operands, before padding of queries is filled in.
    Value operands[2] = {};
    linalg::LinalgOp op() const { return product.op; }
    Value getOfScores() const { return operands[ofScores]; }
    Value getOther() const { return operands[1 - ofScores]; }
  };

  /// What others than the attention and the three products need: the sum of a
  /// term over the dimensions that the map lacks.
  struct Total {
    /// The result of a reduction; or a tensor as large as the scores that is
    /// read as it is.
    Value value;
    Value term;
    /// From the op's dimensions; dimensions and zeros.
    AffineMap map;
  };

  void findEnds();
  /// The map of a tensor of which an element belongs to each score: from the
  /// attention's loops.
  FailureOr<AffineMap> getPlaces(Value tensor);
  LogicalResult matchEnds();
  LogicalResult matchWeightsEnd(End &end);
  LogicalResult matchScoresEnd(End &end, AffineMap places, Value element);
  /// The ops that make what the three products and the attention's own read of
  /// the scores, and by whom else that is read.
  void findNeeded();
  bool isOutside(OpOperand &use);
  LogicalResult matchTotals();
  /// Whether all that is made of an op's results ends in sums.
  bool endsInSums(Operation *op);
  /// Whether an op is a sum of terms that the op can be asked for, which are
  /// then known.
  bool matchSum(Operation *op);
  /// Adds the sums that an op ends in to the totals.
  void addSums(Operation *op);
  LogicalResult addTensor(Value tensor);
  /// Whether such places, of different elements, are those of all scores.
  bool areAll(ArrayRef<AffineExpr> places);
  /// Whether a scalar is made of a score's cotangent, and of what is there
  /// before the first product; adds what it reads to the leaves.
  bool isTerm(Value scalar);
  bool isThere(Value value);
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
  /// What hangs on the scores, but for what products make of it.
  DenseSet<Value> dependent;
  /// What could be an end.
  SmallVector<End> ends;
  std::optional<End> ofQuery, ofKey, ofValue;
  SetVector<Operation *> needed;
  /// What is replaced first: the op is written there.
  Operation *first = nullptr;
  SmallVector<Total> totals;
  /// By reduction.
  DenseMap<Operation *, Total> sums;
  DenseMap<Operation *, bool> knownEnds;
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
