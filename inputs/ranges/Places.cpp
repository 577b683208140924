//===- Places.cpp - Places of a tensor ------------------------------------===//

#include "inputs/ranges/Places.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::ranges;

static bool isDynamic(int64_t size) { return ShapedType::isDynamic(size); }

Places ranges::getWhole(ArrayRef<int64_t> shape) {
  return llvm::map_to_vector<4>(shape, Span::whole);
}

std::optional<Span> ranges::within(Span span, int64_t offset, int64_t size) {
  int64_t skipped =
      span.first >= offset
          ? 0
          : llvm::divideCeilSigned(offset - span.first, span.step);
  Span inside{span.first + skipped * span.step - offset, span.count, span.step};
  if (!isDynamic(inside.count))
    inside.count -= skipped;
  if (!isDynamic(size)) {
    int64_t fit = llvm::divideCeilSigned(size - inside.first, inside.step);
    inside.count = isDynamic(inside.count) ? fit : std::min(fit, inside.count);
  }
  if (!isDynamic(inside.count) && inside.count <= 0)
    return std::nullopt;
  if (inside.count == 1)
    inside.step = 1;
  return inside;
}

Span ranges::throughSlice(Span span, int64_t offset, int64_t stride) {
  return {offset + span.first * stride, span.count,
          span.count == 1 ? 1 : span.step * stride};
}

Span ranges::flatten(ArrayRef<Span> spans, ArrayRef<int64_t> sizes) {
  int64_t block = 1;
  bool isAll = true;
  for (auto [span, size] : llvm::zip_equal(spans, sizes))
    isAll &= span.isWhole(size);
  for (int64_t size : sizes)
    block = isDynamic(size) || isDynamic(block) ? ShapedType::kDynamic
                                                : block * size;
  if (isAll)
    return Span::whole(block);
  const Span toEnd = Span::whole(block);
  Span all = Span::at(0);
  block = 1;
  for (size_t i = spans.size(); i-- > 0;) {
    const Span &outer = spans[i];
    if (isDynamic(block) || isDynamic(all.count))
      return toEnd;
    int64_t first = all.first + outer.first * block;
    if (outer.count == 1)
      all.first = first;
    else if (all.count == 1)
      all = {first, outer.count, outer.step * block};
    else if (isDynamic(outer.count))
      return toEnd;
    else if (all.step * all.count == outer.step * block)
      all = {first, all.count * outer.count, all.step};
    else
      all = {first, all.last() + outer.last() * block - first + 1, 1};
    block = isDynamic(sizes[i]) ? sizes[i] : block * sizes[i];
  }
  return all;
}

SmallVector<Span> ranges::unflatten(Span span, ArrayRef<int64_t> sizes) {
  SmallVector<Span> spans(sizes.size());
  for (size_t i = sizes.size(); i-- > 1;) {
    int64_t size = sizes[i];
    if (isDynamic(size)) {
      for (size_t outer = 0; outer <= i; ++outer)
        spans[outer] = Span::whole(sizes[outer]);
      return spans;
    }
    if (size == 0)
      return getWhole(sizes);
    int64_t first = span.first / size;
    if (span.count == 1) {
      spans[i] = Span::at(span.first % size);
      span = Span::at(first);
    } else if (span.step % size == 0) {
      spans[i] = Span::at(span.first % size);
      span = {first, span.count, span.step / size};
    } else if (isDynamic(span.count)) {
      spans[i] = Span::whole(size);
      span = {first, span.count, 1};
    } else if (int64_t last = span.last() / size; first == last) {
      spans[i] = {span.first % size, span.count, span.step};
      span = Span::at(first);
    } else if (int64_t inRow = size / span.step;
               size % span.step == 0 && span.first % size < span.step &&
               span.count % inRow == 0) {
      spans[i] = {span.first % size, inRow, inRow == 1 ? 1 : span.step};
      span = {first, span.count / inRow, 1};
    } else {
      spans[i] = Span::whole(size);
      span = {first, last - first + 1, 1};
    }
  }
  spans[0] = span;
  return spans;
}

Places ranges::ofSource(tensor::ExpandShapeOp op, const Places &result) {
  Places source;
  ArrayRef<int64_t> sizes = op.getResultType().getShape();
  for (const ReassociationIndices &group : op.getReassociationIndices())
    source.push_back(
        flatten(ArrayRef(result).slice(group.front(), group.size()),
                sizes.slice(group.front(), group.size())));
  for (auto [span, size] : llvm::zip_equal(source, op.getSrcType().getShape()))
    if (isDynamic(span.count) && span.first == 0 && span.step == 1)
      span = Span::whole(size);
  return source;
}

Places ranges::ofSource(tensor::CollapseShapeOp op, const Places &result) {
  Places source;
  ArrayRef<int64_t> sizes = op.getSrcType().getShape();
  for (auto [span, group] :
       llvm::zip_equal(result, op.getReassociationIndices()))
    source.append(unflatten(span, sizes.slice(group.front(), group.size())));
  // What is reassociated to no dimension is of size 1.
  if (result.empty())
    source = getWhole(sizes);
  return source;
}

Places ranges::ofSource(tensor::ExtractSliceOp op, const Places &result) {
  Places source;
  RankedTensorType type = op.getSourceType();
  llvm::SmallBitVector dropped = op.getDroppedDims();
  size_t next = 0;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    Span span = dropped.test(dim) ? Span::at(0) : result[next++];
    int64_t offset = op.getStaticOffset(dim), stride = op.getStaticStride(dim);
    source.push_back(isDynamic(offset) || isDynamic(stride) || stride < 1
                         ? Span::whole(type.getDimSize(dim))
                         : throughSlice(span, offset, stride));
  }
  return source;
}

Places ranges::getLoops(linalg::LinalgOp op, AffineMap map,
                        const Places &result) {
  Places loops = getWhole(op.getStaticLoopRanges());
  for (auto [expression, span] : llvm::zip_equal(map.getResults(), result))
    if (auto dim = dyn_cast<AffineDimExpr>(expression))
      loops[dim.getPosition()] = span;
  return loops;
}

/// The numbers that an expression has; nothing if they are not evenly apart.
static std::optional<Span> getNumbers(AffineExpr expression,
                                      const Places &loops) {
  if (auto dim = dyn_cast<AffineDimExpr>(expression))
    return loops[dim.getPosition()];
  if (auto constant = dyn_cast<AffineConstantExpr>(expression))
    return Span::at(constant.getValue());
  auto binary = dyn_cast<AffineBinaryOpExpr>(expression);
  auto constant =
      binary ? dyn_cast<AffineConstantExpr>(binary.getRHS()) : nullptr;
  std::optional<Span> left =
      constant ? getNumbers(binary.getLHS(), loops) : std::nullopt;
  if (!left)
    return std::nullopt;
  if (binary.getKind() == AffineExprKind::Add)
    return throughSlice(*left, constant.getValue(), 1);
  if (binary.getKind() == AffineExprKind::Mul && constant.getValue() > 0)
    return throughSlice(*left, 0, constant.getValue());
  return std::nullopt;
}

Places ranges::getRead(AffineMap map, ArrayRef<int64_t> shape,
                       const Places &loops) {
  Places read;
  for (auto [expression, size] : llvm::zip_equal(map.getResults(), shape))
    read.push_back(getNumbers(expression, loops).value_or(Span::whole(size)));
  return read;
}
