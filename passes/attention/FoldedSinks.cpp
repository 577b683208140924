//===- FoldedSinks.cpp - Attention that a sink keeps from being one -------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/attention/AttentionMatch.h"
#include "passes/bounds/Bounds.h"

using namespace mlir;
using namespace mlir::dist;

/// Whether `value` is computed of `of`, by few ops.
static bool isMadeOf(Value value, Value of) {
  SmallVector<Value> pending = {value};
  DenseSet<Operation *> seen;
  while (!pending.empty() && seen.size() < kMostElementOps) {
    Value next = pending.pop_back_val();
    if (next == of)
      return true;
    Operation *op = next.getDefiningOp();
    if (op && seen.insert(op).second)
      llvm::append_range(pending, op->getOperands());
  }
  return false;
}

/// Whether what reads `result`, perhaps reshaped, reads what is made of `rows`
/// too.
static bool isReadWith(Value result, Value rows) {
  for (Operation *user : result.getUsers()) {
    if (user->getNumOperands() == 1 ||
        isa<tensor::ExpandShapeOp, linalg::TransposeOp>(user)) {
      if (user->getNumResults() == 1 && isReadWith(user->getResult(0), rows))
        return true;
      continue;
    }
    if (isa<linalg::LinalgOp>(user) &&
        llvm::any_of(user->getOperands(), [&](Value other) {
          return other != result && isMadeOf(other, rows);
        }))
      return true;
  }
  return false;
}

/// Whether no element that `number` is made of depends on the key.
bool AttentionMatch::isOfRow(Value number) {
  SmallVector<Value> pending = {number};
  DenseSet<Value> seen;
  bool hasLeaf = false;
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    if (const ElementsOf::Leaf *leaf = elements.getLeaf(value)) {
      if (leaf->map.isFunctionOfDim(keyLoop))
        return false;
      hasLeaf = true;
    } else if (value == elements.getIndex(keyLoop)) {
      return false;
    } else if (Operation *op = value.getDefiningOp();
               op && op->getBlock() == elements.getIndex(0).getParentBlock()) {
      llvm::append_range(pending, op->getOperands());
    }
  }
  return hasLeaf;
}

StringRef AttentionMatch::findFoldedSink(bool isMatched) {
  if (isMatched)
    return isReadWith(product.op->getResult(0),
                      elements.getLeaf(sumLeaf)->tensor)
               ? "its results are multiplied by what is made of the sums of "
                 "rows"
               : "";
  if (!weight)
    return "";
  Value rest = withoutRounding(splitFactor(weight).second);
  if (auto multiply = rest.getDefiningOp<arith::MulFOp>())
    for (auto [weights, ofRow] :
         {std::pair(multiply.getLhs(), multiply.getRhs()),
          std::pair(multiply.getRhs(), multiply.getLhs())}) {
      auto quotient = withoutRounding(weights).getDefiningOp<arith::DivFOp>();
      if (quotient && quotient.getLhs().getDefiningOp<math::ExpOp>() &&
          findReduced(quotient.getRhs(), quotient.getLhs(),
                      /*isMaximum=*/false) &&
          isOfRow(ofRow))
        return "its weights are multiplied by a number of each row after they "
               "were divided by their sum";
    }
  auto quotient = rest.getDefiningOp<arith::DivFOp>();
  auto power =
      quotient ? quotient.getLhs().getDefiningOp<math::ExpOp>() : math::ExpOp();
  if (!power)
    return "";
  Value sum = findReduced(quotient.getRhs(), power.getResult(),
                          /*isMaximum=*/false);
  if (!sum || sum == quotient.getRhs())
    return "";
  return "its denominators have a term beside the sum of the exponentials, but "
         "what is subtracted from the scores is not made of the largest of "
         "their row";
}

std::string mlir::dist::describeFoldedSink(Operation *op) {
  auto last = dyn_cast<linalg::LinalgOp>(op);
  FailureOr<Product> product = last ? matchProduct(last) : FailureOr<Product>();
  if (failed(product))
    return "";
  for (unsigned weights : {0u, 1u}) {
    AttentionMatch attention(*product, weights);
    bool isMatched =
        succeeded(attention.match(/*minScores=*/1, /*withFactors=*/true));
    if (isMatched && attention.isOnlyUsedHere())
      continue;
    StringRef why = attention.findFoldedSink(isMatched);
    if (!why.empty())
      return ("attention with a sink that is folded into its softmax, and not "
              "taken as one: " +
              why +
              "; a sink is part of attention as one more column of the scores, "
              "dropped after the softmax, or as a term of the denominators "
              "with the largest score of the row subtracted")
          .str();
  }
  return "";
}
