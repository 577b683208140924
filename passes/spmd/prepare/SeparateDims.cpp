//===- SeparateDims.cpp - Merged dimensions that are sharded --------------===//
//
// If heads are merged into a dimension behind a batch and then sharded, the
// merged dimension has blocks of blocks, and these must be even. If they are
// not, the merged dimension is whole on every device. To avoid that, its
// readers are rewritten on the separate dimensions, up to where the dimensions
// are separated again.
//
//===----------------------------------------------------------------------===//

#include "passes/spmd/prepare/SeparateDims.h"
#include "dialects/dist/IR/Gradients.h"
#include "dialects/dist/Interfaces/Lookups.h"
#include "dialects/dist/Utils/Elementwise.h"
#include "dialects/dist/Utils/Program.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/spmd/prepare/PadByIndex.h"
#include "passes/spmd/prepare/Passes.h"
#include "passes/spmd/prepare/UnevenMerge.h"
#include "passes/spmd/propagate/PlacementAnalysis.h"
#include "llvm/ADT/STLExtras.h"

namespace mlir::dist {
#define GEN_PASS_DEF_SEPARATEDIMSPASS
#include "passes/spmd/prepare/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

/// Whether `op` may be rewritten on other dimensions.
static bool isReader(Operation *op) {
  return isa<linalg::LinalgOp, tensor::GatherOp, FollowOp,
             tensor::ExpandShapeOp>(op);
}

/// Whether of what `dist` writes on ops `op` has no more than every op may
/// have, and all sizes are known.
bool mlir::dist::isPlain(Operation *op) {
  auto isStatic = [](Type type) {
    auto shaped = dyn_cast<ShapedType>(type);
    return !shaped || shaped.hasStaticShape();
  };
  return llvm::all_of(op->getOperandTypes(), isStatic) &&
         llvm::all_of(op->getResultTypes(), isStatic) &&
         llvm::all_of(op->getDiscardableAttrs(), [](NamedAttribute attr) {
           StringRef name = attr.getName();
           return name == kScopeAttr || name == kBackwardAttr ||
                  !name.starts_with("dist.");
         });
}

bool Separation::mayExpand(OpOperand *operand) const {
  if (isa<tensor::ExpandShapeOp>(operand->getOwner())) {
    // An operand beside one that was expanded: what made it may be as well.
    auto made = operand->get().getDefiningOp<linalg::LinalgOp>();
    return expansions.contains(operand->getOwner()) && made &&
           operand->get().hasOneUse() && isPlain(made) &&
           made.getNumParallelLoops() == made.getNumLoops();
  }
  auto collapse = operand->get().getDefiningOp<tensor::CollapseShapeOp>();
  // Pads read merged dimensions as they are.
  auto reader = dyn_cast<linalg::LinalgOp>(operand->getOwner());
  if (!collapse || !collapses.contains(collapse) || !reader || !isPlain(reader))
    return false;
  // Products stay sums over one dimension, as kernels need them. Their major
  // one can be sharded.
  bool isProduct = linalg::isaContractionOpInterface(reader);
  AffineMap map = reader.getMatchingIndexingMap(operand);
  SmallVector<utils::IteratorType> loops = reader.getIteratorTypesArray();
  for (auto [group, place] :
       llvm::zip_equal(collapse.getReassociationIndices(), map.getResults())) {
    auto loop = dyn_cast<AffineDimExpr>(place);
    if (group.size() > 1 &&
        (!loop || (isProduct &&
                   loops[loop.getPosition()] != utils::IteratorType::parallel)))
      return false;
  }
  return true;
}

void Separation::notifyOperationReplaced(Operation *op, ValueRange values) {
  // A loop that is expanded with what takes its result apart is replaced next.
  if (isa<tensor::ExpandShapeOp>(op) &&
      llvm::any_of(inserted, llvm::IsaPred<linalg::GenericOp>))
    return;
  for (Operation *made : inserted) {
    if (made->getBlock() == op->getBlock())
      for (StringRef name : {StringRef(kScopeAttr), StringRef(kBackwardAttr)})
        if (Attribute attr = op->getDiscardableAttr(name);
            attr && !made->hasAttr(name))
          made->setDiscardableAttr(name, attr);
    if (isa<tensor::ExpandShapeOp>(made))
      expansions.insert(made);
  }
  inserted.clear();
  if (!isReader(op) || isa<tensor::ExpandShapeOp>(op))
    return;
  for (Value value : values)
    if (auto collapse = value.getDefiningOp<tensor::CollapseShapeOp>())
      collapses.insert(collapse);
}

//===----------------------------------------------------------------------===//
// Lookups
//===----------------------------------------------------------------------===//

namespace {
/// Elements that are looked up (ONNX's GatherElements) in a tensor with merged
/// dimensions along which the result has the same indices: they are looked up
/// in the dimensions apart.
struct SeparateLookup : OpRewritePattern<tensor::GatherOp> {
  SeparateLookup(MLIRContext *context, const Separation &separation)
      : OpRewritePattern(context), separation(separation) {}

  LogicalResult matchAndRewrite(tensor::GatherOp gather,
                                PatternRewriter &rewriter) const override;

private:
  const Separation &separation;
};

/// The dimensions of a tensor, some of which are split.
class ApartDims {
public:
  explicit ApartDims(ArrayRef<int64_t> shape)
      : shape(shape), parts(shape.size()) {}

  /// Records that `dim` is the product of `sizes`. False if it has other sizes
  /// already.
  bool set(int64_t dim, ArrayRef<int64_t> sizes) {
    if (!parts[dim].empty())
      return ArrayRef(parts[dim]) == sizes;
    parts[dim].assign(sizes.begin(), sizes.end());
    return true;
  }
  SmallVector<int64_t> getShape() const {
    SmallVector<int64_t> apart;
    for (auto [size, sizes] : llvm::zip_equal(shape, parts))
      if (sizes.empty())
        apart.push_back(size);
      else
        llvm::append_range(apart, sizes);
    return apart;
  }
  SmallVector<ReassociationIndices> getGroups() const {
    SmallVector<ReassociationIndices> groups(shape.size());
    int64_t place = 0;
    for (auto [group, sizes] : llvm::zip_equal(groups, parts))
      for (size_t i = 0; i < std::max<size_t>(1, sizes.size()); ++i)
        group.push_back(place++);
    return groups;
  }

private:
  ArrayRef<int64_t> shape;
  SmallVector<SmallVector<int64_t, 2>> parts;
};
} // namespace

LogicalResult SeparateLookup::matchAndRewrite(tensor::GatherOp gather,
                                              PatternRewriter &rewriter) const {
  auto collapse = gather.getSource().getDefiningOp<tensor::CollapseShapeOp>();
  auto tuples = gather.getIndices().getDefiningOp<tensor::ConcatOp>();
  RankedTensorType source = gather.getSourceType(),
                   indices = gather.getIndicesType();
  int64_t last = indices.getRank() - 1;
  if (!collapse || !separation.contains(collapse) || !tuples ||
      !isPlain(gather) || !indices.hasStaticShape() ||
      static_cast<int64_t>(tuples.getDim()) != last ||
      gather.getResultType().getRank() != last ||
      gather.getGatherDims().size() != static_cast<size_t>(source.getRank()) ||
      !llvm::is_sorted(gather.getGatherDims()) ||
      llvm::any_of(tuples.getInputs(), [&](Value input) {
        return cast<RankedTensorType>(input.getType()).getDimSize(last) != 1;
      }))
    return failure();

  // Along what is merged the result has to be numbered as the source is.
  ApartDims apart(indices.getShape());
  SmallVector<std::optional<int64_t>> numbered;
  for (auto [input, group] : llvm::zip_equal(
           tuples.getInputs(), collapse.getReassociationIndices())) {
    numbered.push_back(group.size() > 1 ? getIndexedDim(input) : std::nullopt);
    if (group.size() == 1)
      continue;
    SmallVector<int64_t> sizes;
    for (int64_t dim : group)
      sizes.push_back(collapse.getSrcType().getDimSize(dim));
    if (!numbered.back() || *numbered.back() == last ||
        indices.getDimSize(*numbered.back()) != llvm::product_of(sizes) ||
        !apart.set(*numbered.back(), sizes))
      return failure();
  }

  Location loc = gather.getLoc();
  SmallVector<ReassociationIndices> groups = apart.getGroups();
  SmallVector<int64_t> shape = apart.getShape();
  // Of each component the last dimension is 1 long.
  SmallVector<int64_t> one(shape);
  one.back() = 1;
  auto type = RankedTensorType::get(one, indices.getElementType());
  SmallVector<Value> components;
  for (auto [input, group, dim] : llvm::zip_equal(
           tuples.getInputs(), collapse.getReassociationIndices(), numbered)) {
    if (!dim) {
      components.push_back(
          tensor::ExpandShapeOp::create(rewriter, loc, type, input, groups));
      continue;
    }
    for (int64_t place : groups[*dim]) {
      Value empty =
          tensor::EmptyOp::create(rewriter, loc, one, type.getElementType());
      auto number = createParallelLoops(
          rewriter, loc, {}, {}, empty,
          [&](OpBuilder &b, Location loc, ValueRange) -> SmallVector<Value> {
            Value index = linalg::IndexOp::create(b, loc, place);
            if (!type.getElementType().isIndex())
              index = arith::IndexCastOp::create(b, loc, type.getElementType(),
                                                 index);
            return {index};
          });
      components.push_back(number.getResult(0));
    }
  }
  Value places =
      tensor::ConcatOp::create(rewriter, loc, shape.size() - 1, components);
  SmallVector<int64_t> all =
      llvm::to_vector(llvm::seq<int64_t>(collapse.getSrcType().getRank()));
  auto apartType = RankedTensorType::get(ArrayRef(shape).drop_back(),
                                         source.getElementType());
  Value found =
      tensor::GatherOp::create(rewriter, loc, apartType, collapse.getSrc(),
                               places, all, gather.getUnique());
  rewriter.replaceOpWithNewOp<tensor::CollapseShapeOp>(
      gather, gather.getResultType(), found, ArrayRef(groups).drop_back());
  return success();
}

//===----------------------------------------------------------------------===//
// Cotangents
//===----------------------------------------------------------------------===//

namespace {
/// A value that follows one with merged dimensions follows the separate ones
/// instead.
struct SeparateFollow : OpRewritePattern<FollowOp> {
  SeparateFollow(MLIRContext *context, const Separation &separation)
      : OpRewritePattern(context), separation(separation) {}

  LogicalResult matchAndRewrite(FollowOp follow,
                                PatternRewriter &rewriter) const override {
    auto collapse = follow.getLeader().getDefiningOp<tensor::CollapseShapeOp>();
    if (!collapse || !separation.contains(collapse) || !isPlain(follow))
      return failure();
    Location loc = follow.getLoc();
    auto type = cast<RankedTensorType>(follow.getType());
    Value apart = tensor::ExpandShapeOp::create(
        rewriter, loc, collapse.getSrcType().clone(type.getElementType()),
        follow.getOperand(), collapse.getReassociationIndices());
    auto following = cast<FollowOp>(rewriter.clone(*follow));
    following.getOperandMutable().assign(apart);
    following.getLeaderMutable().assign(collapse.getSrc());
    following.getResult().setType(cast<RankedTensorType>(apart.getType()));
    rewriter.replaceOpWithNewOp<tensor::CollapseShapeOp>(
        follow, type, following, collapse.getReassociationIndices());
    return success();
  }

private:
  const Separation &separation;
};
} // namespace

//===----------------------------------------------------------------------===//
// Which dimensions
//===----------------------------------------------------------------------===//

namespace {
struct SeparateDimsPass
    : mlir::dist::impl::SeparateDimsPassBase<SeparateDimsPass> {
  using SeparateDimsPassBase::SeparateDimsPassBase;

  void runOnOperation() override;

private:
  using Groups = SmallVector<ReassociationIndices, 4>;
  /// Collapses of which some group might be sharded unevenly in `mesh`.
  SmallVector<tensor::CollapseShapeOp> findCandidates(MeshOp mesh);
  void rewrite(Separation &separation);
  FailureOr<bool> separate(MeshOp mesh);
};
} // namespace

SmallVector<tensor::CollapseShapeOp>
SeparateDimsPass::findCandidates(MeshOp mesh) {
  SmallVector<tensor::CollapseShapeOp> found;
  getOperation().walk([&](tensor::CollapseShapeOp collapse) {
    RankedTensorType type = collapse.getSrcType();
    if (!type.hasStaticShape() || !type.getNumElements() ||
        llvm::none_of(collapse->getUsers(), isReader))
      return;
    for (const ReassociationIndices &group :
         collapse.getReassociationIndices()) {
      bool isMajor = true;
      for (int64_t dim : group) {
        int64_t size = type.getDimSize(dim);
        if (!isMajor && size > 1 &&
            llvm::any_of(mesh.getAxes(), [&](MeshAxisAttr axis) {
              return size % axis.getSize() != 0;
            }))
          return found.push_back(collapse);
        isMajor &= size == 1;
      }
    }
  });
  return found;
}

/// The groups of `collapse` that merge what its operand's sharding cannot be
/// merged over.
static SmallVector<bool> findLost(tensor::CollapseShapeOp collapse,
                                  ShardingAttr sharding,
                                  const MeshLayout &layout) {
  SmallVector<bool> lost;
  for (const ReassociationIndices &group : collapse.getReassociationIndices()) {
    SmallVector<DimShardingAttr> dims;
    SmallVector<int64_t> sizes;
    for (int64_t dim : group) {
      sizes.push_back(collapse.getSrcType().getDimSize(dim));
      dims.push_back(layout.canonical(sharding.getDims()[dim], sizes.back()));
    }
    lost.push_back(!layout.join(dims, sizes));
  }
  return lost;
}

/// `collapse` in two steps, of which the last merges the groups that are
/// `lost`, so that no others are separated.
static tensor::CollapseShapeOp isolate(tensor::CollapseShapeOp collapse,
                                       ArrayRef<bool> lost) {
  SmallVector<ReassociationIndices> groups = collapse.getReassociationIndices(),
                                    first, last;
  int64_t place = 0;
  for (auto [group, isLost] : llvm::zip_equal(groups, lost)) {
    ReassociationIndices &merged = last.emplace_back();
    if (!isLost) {
      first.push_back(group);
      merged.push_back(place++);
      continue;
    }
    for (int64_t dim : group) {
      first.push_back({dim});
      merged.push_back(place++);
    }
  }
  if (first.size() == static_cast<size_t>(collapse.getSrcType().getRank()))
    return collapse;
  OpBuilder b(collapse);
  auto others = tensor::CollapseShapeOp::create(b, collapse.getLoc(),
                                                collapse.getSrc(), first);
  auto own = tensor::CollapseShapeOp::create(
      b, collapse.getLoc(), collapse.getResultType(), others, last);
  for (Operation *op : {others.getOperation(), own.getOperation()}) {
    op->setDiscardableAttrs(collapse->getDiscardableAttrDictionary());
    op->removeDiscardableAttr(kShardingsAttr);
  }
  collapse.replaceAllUsesWith(own.getResult());
  collapse.erase();
  return own;
}

void SeparateDimsPass::rewrite(Separation &separation) {
  MLIRContext *context = &getContext();
  RewritePatternSet patterns(context);
  linalg::populateFoldReshapeOpsByExpansionPatterns(
      patterns,
      [&](OpOperand *operand) { return separation.mayExpand(operand); });
  patterns.add<SeparateLookup, SeparateFollow>(context, separation);
  populateSeparateReshapes(patterns, separation);
  // What is made so are reshapes of reshapes, of fills and of empty tensors.
  tensor::ExpandShapeOp::getCanonicalizationPatterns(patterns, context);
  linalg::FillOp::getCanonicalizationPatterns(patterns, context);
  tensor::populateFoldTensorEmptyPatterns(patterns);
  GreedyRewriteConfig config;
  config.setListener(&separation)
      .setUseTopDownTraversal()
      .enableConstantCSE(false)
      .setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  // Where it ends early the program is right as it is, and less is apart.
  (void)applyPatternsGreedily(getOperation(), std::move(patterns), config);
  // The index along a merged dimension is now computed; placement reads arith.
  getOperation().walk([](affine::AffineApplyOp apply) {
    if (!isa<linalg::LinalgOp>(apply->getParentOp()))
      return;
    OpBuilder b(apply);
    std::optional<SmallVector<Value, 8>> index = affine::expandAffineMap(
        b, apply.getLoc(), apply.getAffineMap(), apply.getOperands());
    apply.replaceAllUsesWith(index->front());
    apply.erase();
  });
}

/// Whether anything was taken apart.
FailureOr<bool> SeparateDimsPass::separate(MeshOp mesh) {
  SmallVector<tensor::CollapseShapeOp> candidates = findCandidates(mesh);
  if (candidates.empty())
    return false;

  // Where the placements are to be is known once they are propagated: through
  // all that will be apart, so that of a chain of merges each one is found.
  eraseBackwardSyncs(getOperation());
  MeshLayout layout(mesh);
  SmallVector<SmallVector<bool>> lost;
  {
    PlacementAnalysis analysis(getOperation(), MeshLayout::Merging::Any);
    if (failed(analysis.getStatus()))
      return failure();
    if (!analysis.getLayout())
      return false;
    analysis.propagate();
    for (tensor::CollapseShapeOp collapse : candidates) {
      // Values that are created where they are used, such as fills, have no
      // placement.
      unsigned source = analysis.getGraph().getIndex(collapse.getSrc());
      if (source == PlacementGraph::kNone)
        lost.emplace_back();
      else
        lost.push_back(findLost(
            collapse, analysis.getPlacements().getSharding(source), layout));
    }
  }
  Separation separation;
  bool any = false;
  for (auto [collapse, groups] : llvm::zip_equal(candidates, lost))
    if (llvm::is_contained(groups, true)) {
      any = true;
      separation.add(isolate(collapse, groups));
    }
  if (any)
    rewrite(separation);
  return any;
}

void SeparateDimsPass::runOnOperation() {
  FailureOr<MeshOp> mesh = findProgramMesh(getOperation());
  if (failed(mesh))
    return signalPassFailure();
  if (!*mesh)
    return;
  auto rewriteRows = [&] {
    return success(succeeded(rewritePadsByIndex(getOperation(), *mesh)) &&
                   succeeded(rewriteUnevenMerges(getOperation(), *mesh)));
  };
  if (failed(rewriteRows()))
    return signalPassFailure();
  FailureOr<bool> any = separate(*mesh);
  // Rows behind what is apart now are placed only now.
  if (failed(any) || (*any && failed(rewriteRows())))
    return signalPassFailure();
}
