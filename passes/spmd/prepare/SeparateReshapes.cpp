//===- SeparateReshapes.cpp - Reshapes of what was merged -----------------===//

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

/// The coarsest sizes of which both lists of sizes are products, in their
/// order, and the number of them in each element of the lists.
struct CommonSizes {
  SmallVector<int64_t> sizes;
  SmallVector<size_t> ofFirst, ofSecond;
};
} // namespace

/// Nothing where borders of the lists, whose products are the same, do not
/// nest.
static std::optional<CommonSizes> findCommonSizes(ArrayRef<int64_t> first,
                                                  ArrayRef<int64_t> second) {
  CommonSizes common;
  common.ofFirst.resize(first.size());
  common.ofSecond.resize(second.size());
  size_t i = 0, j = 0;
  int64_t left = first[0], right = second[0];
  auto take = [&](int64_t size) {
    common.sizes.push_back(size);
    ++common.ofFirst[std::min(i, first.size() - 1)];
    ++common.ofSecond[std::min(j, second.size() - 1)];
  };
  auto nextFirst = [&] { left = ++i < first.size() ? first[i] : 0; };
  auto nextSecond = [&] { right = ++j < second.size() ? second[j] : 0; };
  while (i < first.size() || j < second.size()) {
    if (left == right) {
      take(left);
      nextFirst();
      nextSecond();
    } else if (right == 1 || (right > 1 && left > right && left % right == 0)) {
      take(right);
      // What is left of the element of the first list; all of it beside a 1.
      left /= right;
      nextSecond();
    } else if (left == 1 || (left > 1 && right > left && right % left == 0)) {
      take(left);
      right /= left;
      nextFirst();
    } else {
      return std::nullopt;
    }
  }
  return common;
}

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
