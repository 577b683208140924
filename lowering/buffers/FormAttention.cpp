//===- FormAttention.cpp - Attention that is worth tiles ------------------===//
//
// --dist-form-attention: attentions with many scores become dist.attention.
// Tiles are copied in the order that products read fastest. So transposes of
// queries, keys and values before it are left out. Factors of queries and of
// keys become one factor of the queries.
//
//===----------------------------------------------------------------------===//

#include "passes/attention/FormAttention.h"
#include "dialects/dist/Utils/DeadOps.h"
#include "dialects/dist/Utils/Elementwise.h"
#include "lowering/buffers/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "passes/attention/AttentionMatch.h"
#include "passes/attention/JoinedColumns.h"
#include "passes/attention/KeyWindow.h"
#include "passes/attention/RowShifts.h"

namespace mlir::dist {
#define GEN_PASS_DEF_DISTFORMATTENTION
#include "lowering/buffers/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

/// An operand as a constant times a tensor in another order.
namespace {
struct Multiple {
  ElementsOf::Leaf leaf;
  APFloat factor;
};
} // namespace

static std::optional<Multiple> getMultiple(AttentionOp op, unsigned number,
                                           ElementsOf &elements) {
  Value scalar = elements.get(op->getOperand(number), op.getMap(number));
  APFloat factor(op.getScoreType().getFloatSemantics(), 1);
  // Products of narrower numbers are rounded before they are multiplied.
  bool isWide = scalar.getType() == op.getScoreType();
  while (auto product = scalar.getDefiningOp<arith::MulFOp>()) {
    APFloat constant(factor.getSemantics());
    if (!isWide)
      break;
    bool isFirst = matchPattern(product.getLhs(), m_ConstantFloat(&constant));
    if (!isFirst && !matchPattern(product.getRhs(), m_ConstantFloat(&constant)))
      break;
    factor.multiply(constant, APFloat::rmNearestTiesToEven);
    scalar = isFirst ? product.getRhs() : product.getLhs();
  }
  const ElementsOf::Leaf *leaf = elements.getLeaf(scalar);
  if (!leaf || !factor.isFiniteNonZero() ||
      getElementTypeOrSelf(leaf->tensor.getType()) != scalar.getType())
    return std::nullopt;
  return Multiple{*leaf, factor};
}

/// tensor * factor, beside the op that computes the tensor, so that they share
/// a loop.
static Value multiply(AttentionOp op, Value tensor, const APFloat &factor) {
  OpBuilder b(op);
  b.setInsertionPointAfterValue(tensor);
  Type element = getElementTypeOrSelf(tensor);
  return mapElements(
      b, op.getLoc(), tensor, element,
      [&](OpBuilder &b, Location loc, ValueRange args) -> Value {
        Value number =
            arith::ConstantOp::create(b, loc, b.getFloatAttr(element, factor));
        return arith::MulFOp::create(b, loc, args[0], number);
      },
      op->getAttr(kScopeAttr));
}

/// Reads queries, keys and values before they were transposed.
static void takeInOperands(AttentionOp op) {
  auto maps =
      llvm::to_vector(op.getIndexingMaps().getAsValueRange<AffineMapAttr>());
  ElementsOf elements(op.getContext(), maps.front().getNumDims());
  SmallVector<Operation *> left;
  auto take = [&](unsigned number, Value tensor, AffineMap map) {
    if (Operation *maker = op->getOperand(number).getDefiningOp())
      left.push_back(maker);
    op->setOperand(number, tensor);
    maps[number] = map;
  };
  std::optional<Multiple> query = getMultiple(op, 0, elements),
                          key = getMultiple(op, 1, elements),
                          value = getMultiple(op, 2, elements);
  if (query && key) {
    APFloat factor = query->factor;
    factor.multiply(key->factor, APFloat::rmNearestTiesToEven);
    if (factor.isFiniteNonZero() && !factor.isDenormal()) {
      Value scaled = factor.isExactlyValue(1)
                         ? query->leaf.tensor
                         : multiply(op, query->leaf.tensor, factor);
      take(0, scaled, query->leaf.map);
      take(1, key->leaf.tensor, key->leaf.map);
    }
  }
  if (value && value->factor.isExactlyValue(1))
    take(2, value->leaf.tensor, value->leaf.map);
  op.setIndexingMapsAttr(Builder(op.getContext()).getAffineMapArrayAttr(maps));
  eraseDead(left);
}

/// Queries and keys of the blocks that are tested for masks.
static constexpr int64_t kBlock = 128;

/// Whether tiles multiply less than the separate ops do. For each score, the
/// separate ops have two products forward and four backward. Tiles compute the
/// scores once more, but skip blocks that a mask excludes.
static bool hasFewerProducts(AttentionOp op, KeyWindows &masks) {
  SmallVector<int64_t> sizes = op.getDimSizes();
  int64_t keys = sizes[op.getKeyDim()];
  if (ShapedType::isDynamic(keys))
    return false;
  std::vector<bool> seen =
      masks.findSeenBlocks(op, llvm::divideCeil(keys, kBlock));
  bool hasAdjoint = op->getNumResults() == 3;
  int64_t inParts = hasAdjoint ? 6 : 2, inTiles = hasAdjoint ? 7 : 2;
  return inTiles * llvm::count(seen, true) <
         inParts * static_cast<int64_t>(seen.size());
}

namespace {
struct FormAttention : dist::impl::DistFormAttentionBase<FormAttention> {
  using Base = dist::impl::DistFormAttentionBase<FormAttention>;
  using Base::Base;

  void runOnOperation() override {
    KeyWindows masks;
    dropRowShifts(getOperation());
    separateJoinedColumns(getOperation());
    int64_t formed = formAttentions(
        getOperation(), std::min(minScores, minScoresOfFewer),
        onlyAcrossLoops ? WithAdjoints::OnlyAcrossLoops : WithAdjoints::Yes,
        /*withFactors=*/true, [&](AttentionOp op, AttentionMatch &) {
          return success(
              op.getScoreType().isF32() &&
              (op.getNumScores() >= minScores || hasFewerProducts(op, masks)));
        });
    // An adjoint recomputes from the operands as they were.
    if (!onlyAcrossLoops)
      getOperation()->walk([](AttentionOp op) {
        if (op.getInits().size() < 3)
          takeInOperands(op);
      });
    // Some may have been across loops, before those were changed.
    if (auto before =
            getOperation()->getAttrOfType<IntegerAttr>(kAttentionsAttr))
      formed += before.getInt();
    getOperation()->setAttr(kAttentionsAttr,
                            Builder(&getContext()).getI64IntegerAttr(formed));
  }
};
} // namespace
