//===- SeparateReshapes.cpp - Reshapes of what was merged -----------------===//

#include "dialects/dist/Interfaces/Placement.h"
#include "passes/spmd/prepare/SeparateDims.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
struct SeparateExpansion : OpRewritePattern<tensor::ExpandShapeOp> {
  SeparateExpansion(MLIRContext *context, Separation &separation)
      : OpRewritePattern(context), separation(separation) {}

  LogicalResult matchAndRewrite(tensor::ExpandShapeOp expand,
                                PatternRewriter &rewriter) const override;

private:
  Separation &separation;
};

struct SeparateCollapse : OpRewritePattern<tensor::CollapseShapeOp> {
  SeparateCollapse(MLIRContext *context, Separation &separation)
      : OpRewritePattern(context), separation(separation) {}

  LogicalResult matchAndRewrite(tensor::CollapseShapeOp collapse,
                                PatternRewriter &rewriter) const override;

private:
  Separation &separation;
};

/// Groups of dimensions that follow each other.
class GroupList {
public:
  void add(size_t count) {
    ReassociationIndices &group = groups.emplace_back();
    for (size_t i = 0; i < count; ++i)
      group.push_back(place++);
    isTrivial &= count == 1;
  }
  ArrayRef<ReassociationIndices> get() const { return groups; }
  bool isIdentity() const { return isTrivial; }

private:
  SmallVector<ReassociationIndices> groups;
  int64_t place = 0;
  bool isTrivial = true;
};
} // namespace

LogicalResult
SeparateExpansion::matchAndRewrite(tensor::ExpandShapeOp expand,
                                   PatternRewriter &rewriter) const {
  auto collapse = expand.getSrc().getDefiningOp<tensor::CollapseShapeOp>();
  if (!collapse || !separation.contains(collapse) || !isPlain(expand))
    return failure();
  ArrayRef<int64_t> from = collapse.getSrcType().getShape(),
                    to = expand.getResultType().getShape();
  auto getSizes = [](ArrayRef<int64_t> shape, ArrayRef<int64_t> group) {
    return shape.slice(group.front(), group.size());
  };
  SmallVector<int64_t> shape;
  GroupList apart, merged;
  for (auto [before, after] :
       llvm::zip_equal(collapse.getReassociationIndices(),
                       expand.getReassociationIndices())) {
    ArrayRef<int64_t> parts = getSizes(from, before),
                      sizes = getSizes(to, after);
    if (parts.size() == 1) {
      apart.add(sizes.size());
      for (size_t i = 0; i < sizes.size(); ++i)
        merged.add(1);
      llvm::append_range(shape, sizes);
      continue;
    }
    std::optional<CommonSizes> common = findCommonSizes(parts, sizes);
    if (!common)
      return failure();
    for (size_t count : common->ofFirst)
      apart.add(count);
    for (size_t count : common->ofSecond)
      merged.add(count);
    llvm::append_range(shape, common->sizes);
  }
  Value value = collapse.getSrc();
  if (!apart.isIdentity())
    value = tensor::ExpandShapeOp::create(rewriter, expand.getLoc(),
                                          expand.getResultType().clone(shape),
                                          value, apart.get());
  if (merged.isIdentity()) {
    rewriter.replaceOp(expand, value);
    return success();
  }
  separation.add(rewriter.replaceOpWithNewOp<tensor::CollapseShapeOp>(
      expand, expand.getResultType(), value, merged.get()));
  return success();
}

LogicalResult
SeparateCollapse::matchAndRewrite(tensor::CollapseShapeOp collapse,
                                  PatternRewriter &rewriter) const {
  auto first = collapse.getSrc().getDefiningOp<tensor::CollapseShapeOp>();
  if (!first || !separation.contains(first) || !isPlain(collapse))
    return failure();
  SmallVector<ReassociationIndices> groups = first.getReassociationIndices();
  ArrayRef<int64_t> from = first.getSrcType().getShape();
  SmallVector<int64_t> shape;
  GroupList others, merged;
  for (auto [group, size] :
       llvm::zip_equal(collapse.getReassociationIndices(),
                       collapse.getResultType().getShape()))
    if (group.size() == 1 || llvm::any_of(group, [&](int64_t dim) {
          return groups[dim].size() > 1;
        })) {
      // Merged dimensions are merged last, together with their current
      // neighbours.
      size_t count = 0;
      for (int64_t dim : group)
        for (int64_t part : groups[dim]) {
          others.add(1);
          shape.push_back(from[part]);
          ++count;
        }
      merged.add(count);
    } else {
      others.add(group.size());
      merged.add(1);
      shape.push_back(size);
    }
  Value value = tensor::CollapseShapeOp::create(
      rewriter, collapse.getLoc(), collapse.getResultType().clone(shape),
      first.getSrc(), others.get());
  separation.add(rewriter.replaceOpWithNewOp<tensor::CollapseShapeOp>(
      collapse, collapse.getResultType(), value, merged.get()));
  return success();
}

void mlir::dist::populateSeparateReshapes(RewritePatternSet &patterns,
                                          Separation &separation) {
  patterns.add<SeparateExpansion, SeparateCollapse>(patterns.getContext(),
                                                    separation);
}
