//===- Simplify.cpp - What only the finished function shows ---------------===//

#include "Emitter.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::dist::frontend;

/// The sizes of a destination that tensor.empty made, so that dimension
/// `place[i]` of the result is its dimension i.
static SmallVector<OpFoldResult> permuteSizes(tensor::EmptyOp empty,
                                              ArrayRef<int64_t> place) {
  SmallVector<OpFoldResult> sizes = empty.getMixedSizes(), moved(sizes.size());
  for (auto [size, to] : llvm::zip_equal(sizes, place))
    moved[to] = size;
  return moved;
}

/// contract(elementwise(transpose(x))) reads elementwise(x) through its map,
/// where nothing else wants the transposed values:
///
///   %t = linalg.transpose ins(%k) permutation = [0, 2, 3, 1]
///   %s = linalg.generic ins(%t)  { scale }
///   linalg.contract indexing_maps = [.., (b, h, s, t, d) -> (b, h, d, t), ..]
/// ->
///   %s = linalg.generic ins(%k)  { scale }
///   linalg.contract indexing_maps = [.., (b, h, s, t, d) -> (b, t, h, d), ..]
static bool sinkTranspose(RewriterBase &rewriter, OpOperand &use) {
  auto contract = cast<linalg::ContractOp>(use.getOwner());
  auto generic = use.get().getDefiningOp<linalg::GenericOp>();
  if (!generic || !generic->hasOneUse() || generic.getNumResults() != 1 ||
      generic.getNumReductionLoops() != 0 || generic.hasIndexSemantics() ||
      !generic.getDpsInits()[0].getDefiningOp<tensor::EmptyOp>())
    return false;
  auto identity = AffineMap::getMultiDimIdentityMap(generic.getNumLoops(),
                                                    rewriter.getContext());
  linalg::TransposeOp transpose;
  for (OpOperand *input : generic.getDpsInputOperands()) {
    AffineMap map = generic.getMatchingIndexingMap(input);
    auto found = input->get().getDefiningOp<linalg::TransposeOp>();
    if (found && map == identity && found->hasOneUse() && !transpose)
      transpose = found;
    else if (map.getNumResults() == map.getNumDims() && map.getNumDims() != 0)
      return false; // another operand of full size would be read crosswise
  }
  if (!transpose ||
      generic.getMatchingIndexingMap(generic.getDpsInitOperand(0)) != identity)
    return false;

  // Loop i of the generic becomes loop permutation[i].
  ArrayRef<int64_t> permutation = transpose.getPermutation();
  SmallVector<AffineExpr> renamed;
  for (int64_t dim : permutation)
    renamed.push_back(rewriter.getAffineDimExpr(dim));
  AffineMap rename =
      AffineMap::get(permutation.size(), 0, renamed, rewriter.getContext());
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (OpOperand *input : generic.getDpsInputOperands()) {
    bool moved = input->get() == transpose->getResult(0);
    inputs.push_back(moved ? transpose.getInput() : input->get());
    maps.push_back(moved
                       ? identity
                       : generic.getMatchingIndexingMap(input).compose(rename));
  }
  maps.push_back(identity);
  auto element =
      cast<RankedTensorType>(generic.getResult(0).getType()).getElementType();
  rewriter.setInsertionPoint(generic);
  auto oldInit = generic.getDpsInits()[0].getDefiningOp<tensor::EmptyOp>();
  auto init = tensor::EmptyOp::create(
      rewriter, generic.getLoc(), permuteSizes(oldInit, permutation), element);
  auto moved = linalg::GenericOp::create(
      rewriter, generic.getLoc(), init.getType(), inputs, init.getResult(),
      maps, generic.getIteratorTypesArray());
  rewriter.inlineRegionBefore(generic.getRegion(), moved.getRegion(),
                              moved.getRegion().begin());
  for (Operation *op : {init.getOperation(), moved.getOperation()})
    op->setDiscardableAttrs(generic->getDiscardableAttrDictionary());

  AffineMap oldMap = contract.getMatchingIndexingMap(&use);
  SmallVector<AffineExpr> exprs(permutation.size());
  for (auto [i, dim] : llvm::enumerate(permutation))
    exprs[dim] = oldMap.getResult(i);
  SmallVector<AffineMap> contractMaps = contract.getIndexingMapsArray();
  contractMaps[use.getOperandNumber()] =
      AffineMap::get(oldMap.getNumDims(), 0, exprs, rewriter.getContext());
  contract.setIndexingMapsAttr(rewriter.getAffineMapArrayAttr(contractMaps));
  use.set(moved.getResult(0));
  rewriter.eraseOp(generic);
  rewriter.eraseOp(transpose);
  return true;
}

/// transpose(contract) writes the transposed result itself.
static bool foldIntoResult(RewriterBase &rewriter,
                           linalg::ContractOp contract) {
  if (!contract->hasOneUse())
    return false;
  auto transpose = dyn_cast<linalg::TransposeOp>(*contract->getUsers().begin());
  auto fill = contract.getDpsInits()[0].getDefiningOp<linalg::FillOp>();
  auto oldInit =
      fill ? fill.getDpsInits()[0].getDefiningOp<tensor::EmptyOp>() : nullptr;
  if (!transpose || transpose.getInput() != contract->getResult(0) || !oldInit)
    return false;
  SmallVector<AffineMap> maps = contract.getIndexingMapsArray();
  SmallVector<AffineExpr> exprs;
  for (int64_t dim : transpose.getPermutation())
    exprs.push_back(maps.back().getResult(dim));
  maps.back() =
      AffineMap::get(maps.back().getNumDims(), 0, exprs, rewriter.getContext());
  auto type = cast<RankedTensorType>(transpose->getResult(0).getType());
  rewriter.setInsertionPoint(contract);
  SmallVector<OpFoldResult> oldSizes = oldInit.getMixedSizes(), newSizes;
  for (int64_t dim : transpose.getPermutation())
    newSizes.push_back(oldSizes[dim]);
  auto init = tensor::EmptyOp::create(rewriter, contract.getLoc(), newSizes,
                                      type.getElementType());
  auto zero = linalg::FillOp::create(rewriter, contract.getLoc(),
                                     fill.getInputs()[0], init.getResult());
  auto moved = linalg::ContractOp::create(
      rewriter, contract.getLoc(), type, contract.getDpsInputs(),
      zero.getResult(0), rewriter.getAffineMapArrayAttr(maps));
  for (Operation *op :
       {init.getOperation(), zero.getOperation(), moved.getOperation()})
    op->setDiscardableAttrs(contract->getDiscardableAttrDictionary());
  rewriter.replaceOp(transpose, moved->getResults());
  rewriter.eraseOp(contract);
  return true;
}

static void eraseUnused(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (op.use_empty() && op.getNumResults() > 0)
      op.erase();
}

void mlir::dist::frontend::simplify(Block &block) {
  // First, so that "used once" is true of what is used once.
  eraseUnused(block);
  IRRewriter rewriter(block.getParentOp()->getContext());
  SmallVector<linalg::ContractOp> contracts(block.getOps<linalg::ContractOp>());
  for (linalg::ContractOp contract : contracts) {
    for (OpOperand *use : contract.getDpsInputOperands())
      while (sinkTranspose(rewriter, *use))
        ;
    foldIntoResult(rewriter, contract);
  }
  eraseUnused(block);
}
