//===- AdjointMatch.h - The adjoint of attention in linalg ------*- C++ -*-===//
//
// Recognizes the adjoint of attention: the weights' cotangent, softmax's
// adjoint (passes/differentiate/SoftmaxAdjoints.cpp), elementwise ops behind
// it, and the products that compute the cotangents of queries, keys and values.
// Other readers of the scores' cotangents, such as the cotangent of a bias,
// become totals of the op: sums if they sum, else whole tensors.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_ATTENTION_ADJOINTMATCH_H
#define DIST_PASSES_ATTENTION_ADJOINTMATCH_H

#include "passes/attention/AttentionMatch.h"

namespace mlir::dist {

class AdjointMatch {
public:
  explicit AdjointMatch(AttentionMatch &attention) : attention(attention) {}

  /// Whether all readers of the scores, and of values computed from them,
  /// belong to the attention, its adjoint, or a total of it.
  LogicalResult match();
  /// Creates the op, with the results of `forward`, in the place of the
  /// products. Adds these to `replaced`.
  void replace(AttentionOp forward, SmallVectorImpl<Operation *> &replaced);

private:
  /// A product that ends the adjoint, and which of its operands depends on the
  /// scores.
  struct End {
    Product product;
    unsigned scoreOperand = 0;
    /// The map of the cotangent.
    AffineMap out = {};
    /// The product's operands, before the padding of queries is filled in.
    Value operands[2] = {};
    linalg::LinalgOp op() const { return product.op; }
    Value getScoreOperand() const { return operands[scoreOperand]; }
    Value getOther() const { return operands[1 - scoreOperand]; }
  };

  /// A value that is needed besides the attention and the three products: the
  /// sum of a term over the dimensions that the map lacks.
  struct Total {
    /// The result of a reduction, or a tensor as large as the scores that is
    /// read as it is.
    Value value;
    Value term;
    /// From the op's dimensions to dimensions and zeros.
    AffineMap map;
  };

  void findEnds();
  /// The map of a tensor with an element for each score: from the attention's
  /// loops.
  FailureOr<AffineMap> getPlaces(Value tensor);
  LogicalResult matchEnds();
  LogicalResult matchWeightsEnd(End &end);
  LogicalResult matchScoresEnd(End &end, AffineMap places, Value element);
  /// The ops that compute, from the scores, what the three products and the
  /// attention's own product read, and other readers of these.
  void findNeeded();
  bool isOutside(OpOperand &use);
  /// Whether a value is one of rows, which the op gives in another way.
  bool isOfRows(Value value);
  /// With a sink: others may read what the rows have for it.
  void replaceRows(AttentionOp forward, Value back,
                   SmallVectorImpl<Operation *> &replaced);
  LogicalResult matchTotals();
  /// Whether all that is computed from an op's results ends in sums.
  bool endsInSums(Operation *op);
  /// Whether an op is a sum of terms that can be a total of the op. The terms
  /// are then known.
  bool matchSum(Operation *op);
  /// Adds the sums that an op ends in to the totals.
  void addSums(Operation *op);
  LogicalResult addTensor(Value tensor);
  /// Whether these positions, of different elements, cover all scores.
  bool areAll(ArrayRef<AffineExpr> places);
  /// Whether a scalar is computed from a score's cotangent, and from values
  /// that exist before the first product. Adds the values that it reads to the
  /// leaves.
  bool isTerm(Value scalar);
  bool isThere(Value value);
  /// The op's dimension of each of the product's loops; `rest` are those that
  /// the scores lack.
  FailureOr<SmallVector<AffineExpr>> getLoops(const End &end, AffineMap places,
                                              unsigned rest);
  /// Whether the product of an end sums over queries. Padded queries must be
  /// filled in for both operands, or for neither.
  LogicalResult matchPadding(const End &end, ArrayRef<AffineExpr> loops);
  /// `tensor` with `number` for queries that are padding. The map is from the
  /// op's dimensions.
  Value fillPadding(OpBuilder &b, Value tensor, AffineMap map, double number);
  /// Whether the query with that index is not padding.
  Value cloneIsQuery(OpBuilder &b, Value index);
  LogicalResult matchOfScores();
  LogicalResult matchXCotangent(Value product);
  Value getOfNumber(Value value);
  LogicalResult matchOfWeights(const ElementsOf::Leaf &leaf);
  AffineMap toDims(AffineMap map, ArrayRef<AffineExpr> loops) {
    return map.replaceDimsAndSymbols(loops, {}, attention.getNumDims(), 0);
  }
  /// `map` is from the loops of the elements.
  AffineMap fromLoops(AffineMap map) {
    return toDims(map, attention.getDims());
  }

  AttentionMatch &attention;
  /// Values that depend on the scores, other than through the products.
  DenseSet<Value> dependent;
  /// Products that could be an end.
  SmallVector<End> ends;
  std::optional<End> ofQuery, ofKey, ofValue;
  SetVector<Operation *> needed;
  /// The first op that is replaced: new ops are inserted there.
  Operation *first = nullptr;
  SmallVector<Total> totals;
  /// By reduction.
  DenseMap<Operation *, Total> sums;
  DenseMap<Operation *, bool> knownEnds;
  /// If some queries are padding: whether a query is not, in the body of an op
  /// that fills padding.
  Value queryMask;
  /// The cotangent of the result, and its map.
  Value cotangent;
  AffineMap cotangentMap;
  /// The leaf of the sums, of rows, of weights times their cotangents.
  Value sumOfWeights;
  /// Scalars: of a score, of x, and further leaves of the former.
  Value scoreCotangent, xCotangent;
  SmallVector<Value> leaves;
};

} // namespace mlir::dist

#endif // DIST_PASSES_ATTENTION_ADJOINTMATCH_H
