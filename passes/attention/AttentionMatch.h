//===- AttentionMatch.h - Attention in linalg -------------------*- C++ -*-===//

#ifndef DIST_PASSES_ATTENTION_ATTENTIONMATCH_H
#define DIST_PASSES_ATTENTION_ATTENTIONMATCH_H

#include "dialects/dist/IR/Attention.h"
#include "mlir/IR/IRMapping.h"
#include "passes/attention/ElementOf.h"
#include "passes/attention/Product.h"

namespace mlir::dist {

/// Attention that ends in a contraction. Elements have positions in the
/// contraction's loops.
class AttentionMatch {
public:
  AttentionMatch(Product product, unsigned weights)
      : product(std::move(product)), weightsOperand(weights),
        elements(this->product.op.getContext(), this->product.kinds.size(),
                 /*mergesUnits=*/true) {}

  /// Whether this is attention, with at least so many scores, whatever else
  /// reads its values. `withFactors`: also if weights are multiplied by
  /// something before the product, as in dropout.
  LogicalResult match(int64_t minScores, bool withFactors);
  /// Whether only this attention needs the scores and the values computed from
  /// them.
  bool isOnlyUsedHere();
  /// Creates the op beside the contraction. With the numbers of each row that
  /// its adjoint needs as further results.
  AttentionOp write(bool forAdjoint);
  /// Replaces the contraction by the op.
  void replaceWith(AttentionOp op);

  /// Whether the weights have another denominator than the sum of the
  /// numerators: a sink has a part of it.
  bool hasSink() const { return base != largestLeaf || denominator != sumLeaf; }
  /// The op's results with the sink: means, what x is compared with in the
  /// numerators, and their denominators.
  struct Rows {
    Value means, base, denominators;
  };
  Rows getRows(AttentionOp op);
  /// Whether a tensor is computed of the largest x and the sums of rows, of
  /// `others` and of what does not depend on scores.
  bool isOfRows(Value tensor, ArrayRef<Value> others,
                const DenseSet<Value> &dependent);
  /// Lets all that reads the largest x and the sums of rows read them from the
  /// op. They stand behind it then. Adds what computed these to `replaced`.
  void replaceRows(AttentionOp op, SmallVectorImpl<Operation *> &replaced);
  /// A tensor of rows of the op in the place of a leaf.
  Value placeRows(OpBuilder &b, Value rows, Value leaf);

  /// After match(), which found one or not: where another form of a sink keeps
  /// attention from being one, what was found; else empty.
  StringRef findFoldedSink(bool isMatched);

  /// Records which loop is that of queries, as long as sizes tell.
  void keepQueryLoop();

  // For the adjoint.

  /// The product of queries and keys.
  linalg::LinalgOp getScoresOp() { return scores.op; }
  linalg::LinalgOp getLastOp() { return product.op; }
  Value getWeights() { return product.op->getOperand(weightsOperand); }
  AffineMap getWeightsMap() { return product.maps[weightsOperand]; }
  Value getQuery() { return scores.op->getOperand(1 - keyOperand); }
  Value getKey() { return scores.op->getOperand(keyOperand); }
  Value getValue() { return product.op->getOperand(1 - weightsOperand); }
  /// Maps of the op: query, key, value and leaves.
  SmallVector<AffineMap> getInputMaps();
  AffineMap getResultMap() { return toDims(product.out(), dims); }
  AffineMap getRowsMap() { return getResultMap().dropResult(getValuePlace()); }
  unsigned getNumDims() const { return product.kinds.size() + 1; }
  /// For each loop of elements, the op's dimension.
  ArrayRef<AffineExpr> getDims() const { return dims; }
  ElementsOf &getElements() { return elements; }
  /// A query, key or value, with the type of the widest of them and `other`:
  /// exporters widen some.
  Value widen(OpBuilder &b, Value operand, Value other = {});
  /// A weight, or a weight's cotangent, without the factor of the weights; null
  /// if it has another factor.
  Value stripFactor(Value value);
  /// Whether some weights are 0 whatever their score; and for one weight,
  /// whether it is not.
  bool dropsWeights() const { return factor && !factor->conditions.empty(); }
  Value cloneKept(OpBuilder &b, IRMapping &mapping);
  /// A tensor times the factor of all weights. The op has no such factor. So
  /// the mean of a single key is exactly its value, and the cotangent of its
  /// score is zero.
  Value scale(OpBuilder &b, Value tensor);
  /// Elements rounded to a type that may be narrower.
  Value round(OpBuilder &b, Value tensor, Type narrow);
  /// The leaf of the scores' product, the argument of softmax, the weight
  /// before it is guarded, and the weight that the product reads.
  Value getScore() const { return score; }
  Value getX() const { return x; }
  Value getQuotient() const { return quotient; }
  Value getWeight() const { return weight; }
  ArrayRef<Value> getLeaves() const { return leaves; }
  bool isNanZero() const { return nanIsZero; }
  bool isNoneZero() const { return noneIsZero; }
  int getKeyLoop() const { return keyLoop; }
  /// The op's dimensions of the indices in elements.
  void mapIndices(Block &body, unsigned firstArgument, IRMapping &mapping);
  /// Creates the scalars that `root` is computed from at `b`.
  Value cloneScalars(OpBuilder &b, Value root, IRMapping &mapping);
  /// If a leaf is a sum along the keys: its terms.
  Value getSummed(Value leaf) {
    return getReduced(elements.getLeaf(leaf), /*isMaximum=*/false);
  }

private:
  /// A number if all conditions are true, else 0.
  struct Factor {
    double number = 1;
    SmallVector<Value> conditions;
  };
  static std::pair<Factor, Value> splitFactor(Value value);
  /// Adds the leaves that `root` is computed from; one of them may be the score
  /// in `scores`.
  void findLeaves(Value root, bool isOfScores,
                  llvm::SmallDenseSet<Value> &seen);
  /// A tensor of the values computed from each element.
  Value mapElements(OpBuilder &b, Value tensor, Type made,
                    function_ref<Value(OpBuilder &, Value)> body);
  Value clearRows(AttentionOp op);
  /// The dimensions of the values' features in the result.
  int64_t getValuePlace() {
    return *product.out().getResultPosition(
        getAffineDimExpr(valueLoop, product.op.getContext()));
  }
  LogicalResult matchWeights(bool withFactors);
  bool isOfRow(Value number);
  Value findReduced(Value root, Value term, bool isMaximum);
  LogicalResult matchScores(const ElementsOf::Leaf &leaf);
  LogicalResult matchDims(int64_t minScores);
  Value getReduced(const ElementsOf::Leaf *leaf, bool isMaximum);
  AffineMap toDims(AffineMap map, ArrayRef<AffineExpr> loops) {
    return map.replaceDimsAndSymbols(loops, {}, getNumDims(), 0);
  }

  Product product;
  unsigned weightsOperand;
  ElementsOf elements;
  Value x, score, quotient, weight;
  /// What is subtracted from x, and the denominator of weights; and the leaves
  /// in them that are the largest x and the sum of the numerators.
  Value base, denominator, largestLeaf, sumLeaf;
  /// With a sink: its rows, and the sum of the numerators beside `base`.
  Rows rows;
  Value sumsOfRows;
  std::optional<Factor> factor;
  bool nanIsZero = false;
  /// Whether means of no keys are zero.
  bool noneIsZero = false;
  SmallVector<Value> leaves; // except the score
  Product scores;
  unsigned keyOperand = 0;
  /// For each loop of the scores, the product's loop or zero.
  SmallVector<AffineExpr> scoreLoops;
  int queryLoop = -1, keyLoop = -1, valueLoop = -1, featureLoop = -1;
  /// For each of the product's loops, the op's dimension.
  SmallVector<AffineExpr> dims;
  SmallVector<Operation *> reductions;
};

/// Where `op` would be the last product of attention if its sink had another
/// form: what was found, and what helps. Else empty.
std::string describeFoldedSink(Operation *op);

/// A number before it was rounded to a narrower type, and perhaps widened
/// again.
Value withoutRounding(Value value);

/// Whether `isNan` is a test of `value`, rounded or not, for NaN.
bool isNanTest(Value isNan, Value value);

} // namespace mlir::dist

#endif // DIST_PASSES_ATTENTION_ATTENTIONMATCH_H
