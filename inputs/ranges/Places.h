//===- Places.h - Places of a tensor ----------------------------*- C++ -*-===//
//
// Which elements of a tensor something is asked of, and which elements of an
// operand these are made of.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_INPUTS_RANGES_PLACES_H
#define DIST_INPUTS_RANGES_PLACES_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinTypes.h"
#include <optional>

namespace mlir::dist::ranges {

/// `count` places along a dimension, `step` apart. A count that is dynamic goes
/// on to the end.
struct Span {
  int64_t first = 0, count = ShapedType::kDynamic, step = 1;

  static Span whole(int64_t size) { return {0, size, 1}; }
  static Span at(int64_t place) { return {place, 1, 1}; }

  bool isWhole(int64_t size) const {
    return first == 0 && step == 1 && count == size;
  }
  int64_t last() const { return first + (count - 1) * step; }
  bool operator==(const Span &other) const {
    return first == other.first && count == other.count && step == other.step;
  }
};

/// A span for each dimension; the elements are those at all their places.
using Places = SmallVector<Span, 4>;

/// All of a tensor of such a shape.
Places getWhole(ArrayRef<int64_t> shape);

/// Those places of `span` that lie within `size` from `offset` on, counted from
/// there; nothing if there are none.
std::optional<Span> within(Span span, int64_t offset, int64_t size);

/// The places that `span` has in a slice, as those of what it is cut from.
Span throughSlice(Span span, int64_t offset, int64_t stride);

/// Places along several dimensions, as places along the one that they are
/// collapsed to; more of them where they are not evenly apart.
Span flatten(ArrayRef<Span> spans, ArrayRef<int64_t> sizes);
/// And back.
SmallVector<Span> unflatten(Span span, ArrayRef<int64_t> sizes);

/// The elements of the source that those of the result come from.
Places ofSource(tensor::ExpandShapeOp op, const Places &result);
Places ofSource(tensor::CollapseShapeOp op, const Places &result);
Places ofSource(tensor::ExtractSliceOp op, const Places &result);

/// Loops of a linalg op that make those elements of the tensor of `map`.
Places getLoops(linalg::LinalgOp op, AffineMap map, const Places &result);
/// Elements of a tensor of `map` and `shape` that those loops read.
Places getRead(AffineMap map, ArrayRef<int64_t> shape, const Places &loops);

} // namespace mlir::dist::ranges

#endif // DIST_INPUTS_RANGES_PLACES_H
