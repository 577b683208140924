//===- FullRankSlices.cpp - Slices whose unit dimensions are clear --------===//
//
// Upstream's canonicalizer (LLVM 22) forgets which dimension a slice drops when
// it folds an offset. Of a slice of sizes [1, 3, 1] with the result 1 x 3, the
// sizes become [1, 1, 3], and other elements are read. For a view of a buffer
// with steps it crashes. It looks for the dropped dimension by strides, those
// of the buffer (memref::SubViewOp::getDroppedDims).
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

/// Whether other dimensions than the `dropped` ones could be gone.
template <typename OpTy> static bool isUnclear(OpTy slice, int64_t dropped) {
  return dropped > 0 && llvm::count(slice.getStaticSizes(), 1) > dropped;
}

/// Each dimension that stays, with those that are dropped before it.
static SmallVector<ReassociationIndices>
groupDims(const llvm::SmallBitVector &dropped) {
  SmallVector<ReassociationIndices> groups;
  ReassociationIndices group;
  for (int64_t dim = 0, rank = dropped.size(); dim < rank; ++dim) {
    group.push_back(dim);
    if (!dropped[dim])
      groups.push_back(std::exchange(group, {}));
  }
  if (!groups.empty())
    groups.back().append(group);
  return groups;
}

/// The same elements with all dimensions, of which units are then dropped.
static void expand(tensor::ExtractSliceOp slice) {
  OpBuilder b(slice);
  auto full = tensor::ExtractSliceOp::create(
      b, slice.getLoc(), slice.getSource(), slice.getMixedOffsets(),
      slice.getMixedSizes(), slice.getMixedStrides());
  auto made =
      tensor::CollapseShapeOp::create(b, slice.getLoc(), slice.getType(), full,
                                      groupDims(slice.getDroppedDims()));
  for (Operation *op : {full.getOperation(), made.getOperation()})
    op->setDiscardableAttrs(slice->getDiscardableAttrDictionary());
  slice.getResult().replaceAllUsesWith(made.getResult());
  slice.erase();
}

/// The same elements in the same places, of a source with all dimensions.
static void expand(tensor::InsertSliceOp slice) {
  OpBuilder b(slice);
  auto full = tensor::ExpandShapeOp::create(
      b, slice.getLoc(),
      RankedTensorType::get(slice.getStaticSizes(),
                            slice.getSourceType().getElementType()),
      slice.getSource(), groupDims(slice.getDroppedDims()),
      slice.getMixedSizes());
  full->setDiscardableAttrs(slice->getDiscardableAttrDictionary());
  slice.getSourceMutable().assign(full);
}

namespace {
struct FullRankSlices : dist::impl::DistFullRankSlicesBase<FullRankSlices> {
  void runOnOperation() override {
    SmallVector<tensor::ExtractSliceOp> unclear;
    SmallVector<tensor::InsertSliceOp> unclearInserts;
    getOperation()->walk([&](Operation *op) {
      if (auto slice = dyn_cast<tensor::InsertSliceOp>(op)) {
        clearSteps(slice);
        if (!slice.hasUnitStride() &&
            isUnclear(slice, slice.getDestType().getRank() -
                                 slice.getSourceType().getRank()))
          unclearInserts.push_back(slice);
      }
      auto slice = dyn_cast<tensor::ExtractSliceOp>(op);
      if (!slice)
        return;
      clearSteps(slice);
      // Something may be folded, beside the source, or has steps.
      if ((slice->getNumOperands() > 1 || !slice.hasUnitStride()) &&
          isUnclear(slice, slice.getSourceType().getRank() -
                               slice.getType().getRank()))
        unclear.push_back(slice);
    });
    for (tensor::ExtractSliceOp slice : unclear)
      expand(slice);
    for (tensor::InsertSliceOp slice : unclearInserts)
      expand(slice);
  }
};
} // namespace
