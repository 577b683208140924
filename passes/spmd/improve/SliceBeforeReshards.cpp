//===- SliceBeforeReshards.cpp - What a loop reads moves in slices --------===//
//
// A loop may read only slices of a value that is resharded before it, such as
// the parameters of all layers. Then each iteration reshards its slice instead.
// No more is sent, and no device holds all of the value.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/bounds/Bounds.h"
#include "passes/spmd/graph/PlacedProgram.h"
#include "passes/spmd/improve/Passes.h"

using namespace mlir;
using namespace mlir::dist;

/// Whether the dimension is a part of the source's, at any place of it.
static bool isCut(tensor::ExtractSliceOp slice, unsigned dim) {
  return slice.getStaticOffsets()[dim] != 0 ||
         slice.getStaticSizes()[dim] != slice.getSourceType().getDimSize(dim) ||
         slice.getStaticStrides()[dim] != 1;
}

/// Whether devices have all of the dimensions that are cut or dropped, before
/// and after.
static bool commutes(ReshardOp reshard, tensor::ExtractSliceOp slice) {
  llvm::SmallBitVector dropped = slice.getDroppedDims();
  for (unsigned dim = 0, rank = slice.getSourceType().getRank(); dim < rank;
       ++dim)
    if ((isCut(slice, dim) || dropped.test(dim)) &&
        (!reshard.getSource().getDims()[dim].getAllAxes().empty() ||
         !reshard.getSharding().getDims()[dim].getAllAxes().empty()))
      return false;
  return true;
}

/// The placement of a slice of a value that is placed like this.
static ShardingAttr placeSlice(ShardingAttr whole, tensor::ExtractSliceOp slice,
                               const PlacedProgram &values) {
  llvm::SmallBitVector dropped = slice.getDroppedDims();
  SmallVector<DimShardingAttr> dims;
  for (auto [dim, sharding] : llvm::enumerate(whole.getDims()))
    if (!dropped.test(dim))
      dims.push_back(sharding);
  return values.place(dims);
}

static bool areEqual(tensor::ExtractSliceOp a, tensor::ExtractSliceOp b) {
  return a.getType() == b.getType() &&
         a.getMixedOffsets() == b.getMixedOffsets() &&
         a.getMixedSizes() == b.getMixedSizes() &&
         a.getMixedStrides() == b.getMixedStrides();
}

namespace {
/// Slices of one reshard, in the loop that has all of them.
struct LoopSlices {
  SmallVector<tensor::ExtractSliceOp> slices;
  /// For each, the first one equal to it.
  SmallVector<unsigned> firsts;

  bool read(ReshardOp reshard);
};
} // namespace

/// Whether slices in one loop are its only readers, and read no more than all
/// of it.
bool LoopSlices::read(ReshardOp reshard) {
  RankedTensorType type = reshard.getType();
  if (reshard->use_empty() || !type.hasStaticShape() ||
      reshard.getSource().isPartial() || reshard.getSharding().isPartial())
    return false;
  auto loop = dyn_cast<scf::ForOp>((*reshard->user_begin())->getParentOp());
  std::optional<APInt> turns = loop ? loop.getStaticTripCount() : std::nullopt;
  if (!turns || loop->getBlock() != reshard->getBlock())
    return false;
  for (Operation *user : reshard->getUsers()) {
    auto slice = dyn_cast<tensor::ExtractSliceOp>(user);
    if (!slice || slice->getBlock() != loop.getBody() ||
        !slice.getType().hasStaticShape() || !commutes(reshard, slice))
      return false;
    slices.push_back(slice);
  }
  llvm::sort(slices,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  if (slices.size() > kMostLoopSlices)
    return false;
  double elements = 0;
  for (auto [number, slice] : llvm::enumerate(slices)) {
    unsigned first = 0;
    while (!areEqual(slices[first], slice))
      ++first;
    firsts.push_back(first);
    if (first == number)
      elements += slice.getType().getNumElements();
  }
  return elements * turns->roundToDouble() <= type.getNumElements();
}

static void moveInto(ReshardOp reshard, LoopSlices &found,
                     PlacedProgram &values) {
  SmallVector<Value> made;
  for (auto [slice, first] : llvm::zip_equal(found.slices, found.firsts)) {
    if (first < made.size()) {
      made.push_back(made[first]);
    } else {
      OpBuilder builder(slice);
      ShardingAttr from = placeSlice(reshard.getSource(), slice, values);
      ShardingAttr to = placeSlice(reshard.getSharding(), slice, values);
      Operation *part = builder.clone(*slice);
      part->setOperand(0, reshard.getOperand());
      values.setShardings(part, {from});
      made.push_back(values.makeReshard(
          builder, reshard.getLoc(), part->getResult(0), from, to,
          reshard.getCause(), reshard->getAttr(kScopeAttr)));
    }
    slice.getResult().replaceAllUsesWith(made.back());
    values.erase(slice);
  }
  values.erase(reshard);
}

static void sliceBeforeReshards(FunctionOpInterface function,
                                PlacedProgram &values) {
  SmallVector<ReshardOp> reshards;
  function->walk([&](ReshardOp reshard) { reshards.push_back(reshard); });
  for (ReshardOp reshard : reshards) {
    LoopSlices found;
    if (!values.isAskedFor(reshard.getResult()) && found.read(reshard))
      moveInto(reshard, found, values);
  }
}

namespace mlir::dist {
#define GEN_PASS_DEF_SLICEBEFORERESHARDSPASS
#include "passes/spmd/improve/Passes.h.inc"
} // namespace mlir::dist

namespace {
struct SliceBeforeReshardsPass
    : mlir::dist::impl::SliceBeforeReshardsPassBase<SliceBeforeReshardsPass> {
  void runOnOperation() override {
    FailureOr<bool> changed =
        visitPlacedFunctions(getOperation(), sliceBeforeReshards);
    if (failed(changed))
      return signalPassFailure();
    if (!*changed)
      markAllAnalysesPreserved();
  }
};
} // namespace
