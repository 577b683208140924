//===- FoldPairs.cpp - Collectives that undo each other -------------------===//

#include "passes/layout/FoldPairs.h"
#include "dialects/dist/IR/Collectives.h"
#include "dialects/dist/IR/Dist.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace mlir::dist;

/// What two collectives of one group do with the dimensions of a tensor: cut
/// one, join the other; -1 if they do not.
namespace {
struct Move {
  int64_t cut, joined;
};
} // namespace

static std::optional<Move> getMove(Operation *op) {
  if (auto exchange = dyn_cast_or_null<AllToAllOp>(op))
    return Move{int64_t(exchange.getSplitDim()),
                int64_t(exchange.getConcatDim())};
  if (auto gather = dyn_cast_or_null<AllGatherOp>(op))
    return Move{-1, int64_t(gather.getDim())};
  if (auto slice = dyn_cast_or_null<AllSliceOp>(op))
    return Move{int64_t(slice.getDim()), -1};
  return std::nullopt;
}

/// The original of dimension `dim` before transposes; each dimension of the
/// result is one of `origins`.
static int64_t originOf(ArrayRef<int64_t> origins, int64_t dim) {
  return dim < 0 ? dim : origins[dim];
}

static bool areOneGroup(CollectiveOpInterface a, CollectiveOpInterface b) {
  return a.getAxes() == b.getAxes() &&
         lookupMesh(a, a.getMeshAttr()) == lookupMesh(b, b.getMeshAttr());
}

/// Through transposes, whose dimensions are told by `origins`, to the value
/// that was transposed.
static Value skipTransposes(Value value, SmallVectorImpl<int64_t> &origins) {
  // More than two in a row nobody writes, and many walks would be long.
  for (int i = 0; i < 4; ++i) {
    auto transpose = value.getDefiningOp<linalg::TransposeOp>();
    if (!transpose)
      break;
    for (int64_t &dim : origins)
      dim = transpose.getPermutation()[dim];
    value = transpose.getInput();
  }
  return value;
}

static void fold(Operation *op, RewriterBase &rewriter) {
  std::optional<Move> last = getMove(op);
  if (!last)
    return;
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  auto origins = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  Operation *inverse =
      skipTransposes(op->getOperand(0), origins).getDefiningOp();
  std::optional<Move> first = getMove(inverse);
  if (!first || first->cut != originOf(origins, last->joined) ||
      first->joined != originOf(origins, last->cut) ||
      !areOneGroup(cast<CollectiveOpInterface>(op),
                   cast<CollectiveOpInterface>(inverse)))
    return;
  Value whole = inverse->getOperand(0);
  if (isIdentityPermutation(origins)) {
    rewriter.replaceOp(op, whole);
    return;
  }
  rewriter.setInsertionPoint(op);
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(rewriter, op->getLoc(), whole);
  Value init = tensor::EmptyOp::create(rewriter, op->getLoc(),
                                       applyPermutation(sizes, origins),
                                       type.getElementType());
  auto transpose =
      linalg::TransposeOp::create(rewriter, op->getLoc(), whole, init, origins);
  if (Attribute scope = op->getAttr(kScopeAttr))
    transpose->setAttr(kScopeAttr, scope);
  rewriter.replaceOp(op, transpose.getResult());
}

void mlir::dist::foldInversePairs(Operation *function, RewriterBase &rewriter) {
  SmallVector<Operation *> collectives;
  function->walk([&](CollectiveOpInterface op) { collectives.push_back(op); });
  for (Operation *op : collectives)
    fold(op, rewriter);
}
