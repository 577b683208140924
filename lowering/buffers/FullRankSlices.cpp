//===- FullRankSlices.cpp - Slices whose unit dimensions are clear --------===//
//
// Of a slice of sizes [1, 3, 1] whose result is 1 x 3 upstream's canonicalizer
// (LLVM 22) does not remember which dimension is gone once it folds an offset:
// the sizes become [1, 1, 3], and other elements are read. Of a view of a
// buffer with a step between the elements of a dimension that is gone it
// crashes, for it looks for that dimension by strides
// (memref::SubViewOp::getDroppedDims).
//
//===----------------------------------------------------------------------===//

#include "lowering/buffers/Passes.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/SmallBitVector.h"
#include <utility>

namespace mlir::dist {
#define GEN_PASS_DEF_DISTFULLRANKSLICES
#include "lowering/buffers/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

/// Between the elements of a dimension of one there is no step.
template <typename OpTy> static void clearSteps(OpTy slice) {
  OpBuilder b(slice);
  SmallVector<OpFoldResult> strides = slice.getMixedStrides();
  for (auto [stride, size] : llvm::zip_equal(strides, slice.getStaticSizes()))
    if (size == 1)
      stride = b.getIndexAttr(1);
  SmallVector<int64_t> numbers;
  SmallVector<Value> values;
  dispatchIndexOpFoldResults(strides, values, numbers);
  slice.getStridesMutable().assign(values);
  slice.setStaticStrides(numbers);
}

/// Whether something may be folded, and other dimensions could be gone.
static bool isUnclear(tensor::ExtractSliceOp slice) {
  int64_t dropped = slice.getSourceType().getRank() - slice.getType().getRank();
  int64_t units = llvm::count(slice.getStaticSizes(), 1);
  return dropped > 0 && units > dropped &&
         slice->getNumOperands() > 1; // beside the source
}

/// The same elements with all dimensions, of which units are then dropped.
static void expand(tensor::ExtractSliceOp slice) {
  OpBuilder b(slice);
  auto full = tensor::ExtractSliceOp::create(
      b, slice.getLoc(), slice.getSource(), slice.getMixedOffsets(),
      slice.getMixedSizes(), slice.getMixedStrides());
  // Each dimension that stays, with those that are dropped before it.
  llvm::SmallBitVector dropped = slice.getDroppedDims();
  SmallVector<ReassociationIndices> groups;
  ReassociationIndices group;
  for (int64_t dim = 0, rank = dropped.size(); dim < rank; ++dim) {
    group.push_back(dim);
    if (!dropped[dim])
      groups.push_back(std::exchange(group, {}));
  }
  if (!groups.empty())
    groups.back().append(group);
  auto made = tensor::CollapseShapeOp::create(b, slice.getLoc(),
                                              slice.getType(), full, groups);
  for (Operation *op : {full.getOperation(), made.getOperation()})
    op->setDiscardableAttrs(slice->getDiscardableAttrDictionary());
  slice.getResult().replaceAllUsesWith(made.getResult());
  slice.erase();
}

namespace {
struct FullRankSlices : dist::impl::DistFullRankSlicesBase<FullRankSlices> {
  void runOnOperation() override {
    SmallVector<tensor::ExtractSliceOp> unclear;
    getOperation()->walk([&](Operation *op) {
      if (auto slice = dyn_cast<tensor::InsertSliceOp>(op))
        clearSteps(slice);
      auto slice = dyn_cast<tensor::ExtractSliceOp>(op);
      if (!slice)
        return;
      clearSteps(slice);
      if (isUnclear(slice))
        unclear.push_back(slice);
    });
    for (tensor::ExtractSliceOp slice : unclear)
      expand(slice);
  }
};
} // namespace
