//===- AttentionMatch.h - Attention in linalg -------------------*- C++ -*-===//

#ifndef DIST_PASSES_ATTENTION_ATTENTIONMATCH_H
#define DIST_PASSES_ATTENTION_ATTENTIONMATCH_H

#include "dialects/dist/IR/Attention.h"
#include "mlir/IR/IRMapping.h"
#include "passes/attention/ElementOf.h"
#include "passes/attention/Product.h"

namespace mlir::dist {

/// Attention that a contraction is the end of. Elements are at places in the
/// contraction's loops.
class AttentionMatch {
public:
  AttentionMatch(Product product, unsigned weights)
      : product(std::move(product)), weightsOperand(weights),
        elements(this->product.op.getContext(), this->product.kinds.size(),
                 /*mergesUnits=*/true) {}

  /// Whether this is attention, with at least so many scores, in whatever else
  /// reads what it is made of. `withFactors`: also where weights are multiplied
  /// by something before the product, as dropout does.
  LogicalResult match(int64_t minScores, bool withFactors);
  /// Whether nothing but this attention needs the scores, or what is made of
  /// them.
  bool isOnlyUsedHere();
  /// Writes the op beside the contraction; with what its adjoint needs of each
  /// row as further results.
  AttentionOp write(bool forAdjoint);
  /// The op takes the place of the contraction.
  void replaceWith(AttentionOp op);

  /// Writes down which loop is that of queries, while sizes tell.
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
  /// A query, key or value as wide as the widest of them and `other`: exporters
  /// widen some.
  Value widen(OpBuilder &b, Value operand, Value other = {});
  /// What is left of a weight, or of what comes back for one, without what
  /// weights are multiplied by; null if it is multiplied by something else.
  Value stripFactor(Value value);
  /// Whether some weights are 0 whatever their score, and for one: whether it
  /// is not.
  bool dropsWeights() const { return factor && !factor->conditions.empty(); }
  Value cloneKept(OpBuilder &b, IRMapping &mapping);
  /// A tensor times the number that all weights are multiplied by. The op is
  /// without it: so means of one key alone are its values, to the last bit, and
  /// what comes back for its score is zero.
  Value scale(OpBuilder &b, Value tensor);
  /// Elements rounded to a type that may be narrower.
  Value round(OpBuilder &b, Value tensor, Type narrow);
  /// The leaf of the scores' product, what softmax is taken of, the weight
  /// before it is guarded, and as the product takes it.
  Value getScore() const { return score; }
  Value getX() const { return x; }
  Value getQuotient() const { return quotient; }
  Value getWeight() const { return weight; }
  ArrayRef<Value> getLeaves() const { return leaves; }
  bool isNanZero() const { return nanIsZero; }
  bool isNoneZero() const { return noneIsZero; }
  int getKeyLoop() const { return keyLoop; }
  /// The op's dimensions of the indices that elements are made of.
  void mapIndices(Block &body, unsigned firstArgument, IRMapping &mapping);
  /// Writes the scalars that `root` is made of at `b`.
  Value cloneScalars(OpBuilder &b, Value root, IRMapping &mapping);
  /// What a leaf is the sums along the keys of, if it is that: the terms.
  Value getSummed(Value leaf) {
    return getReduced(elements.getLeaf(leaf), /*isMaximum=*/false);
  }

private:
  /// A number where all conditions hold, 0 elsewhere.
  struct Factor {
    double number = 1;
    SmallVector<Value> conditions;
  };
  static std::pair<Factor, Value> splitFactor(Value value);
  /// Adds to the leaves what `root` is made of; of `scores` one may be the
  /// score.
  void findLeaves(Value root, bool isOfScores,
                  llvm::SmallDenseSet<Value> &seen);
  /// A tensor of what is made of each element.
  Value mapElements(OpBuilder &b, Value tensor, Type made,
                    function_ref<Value(OpBuilder &, Value)> body);
  Value clearRows(AttentionOp op);
  /// Where in the result the features of values are.
  int64_t getValuePlace() {
    return *product.out().getResultPosition(
        getAffineDimExpr(valueLoop, product.op.getContext()));
  }
  LogicalResult matchWeights(bool withFactors);
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
  std::optional<Factor> factor;
  bool nanIsZero = false;
  /// Whether means of no keys are zero.
  bool noneIsZero = false;
  SmallVector<Value> leaves; // but for the score
  Product scores;
  unsigned keyOperand = 0;
  /// For each loop of the scores, the product's loop or zero.
  SmallVector<AffineExpr> scoreLoops;
  int queryLoop = -1, keyLoop = -1, valueLoop = -1, featureLoop = -1;
  /// For each of the product's loops, the op's dimension.
  SmallVector<AffineExpr> dims;
  SmallVector<Operation *> reductions;
};

/// A number before it was rounded to a narrower type, and perhaps widened
/// again.
Value withoutRounding(Value value);

/// Whether `isNan` is a test of `value`, rounded or not, for NaN.
bool isNanTest(Value isNan, Value value);

} // namespace mlir::dist

#endif // DIST_PASSES_ATTENTION_ATTENTIONMATCH_H
