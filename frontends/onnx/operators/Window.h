//===- Window.h - Sliding windows over space --------------------*- C++ -*-===//
//
// What convolutions and pools share: kernel, strides, dilations and padding,
// and the size of the result that follows from them.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_FRONTENDS_ONNX_OPERATORS_WINDOW_H
#define DIST_FRONTENDS_ONNX_OPERATORS_WINDOW_H

#include "Converter.h"

namespace mlir::dist::frontend {

/// Sliding windows over the dimensions of space, after [n, channels].
struct Windows {
  SmallVector<int64_t> kernel, strides, dilations;
  /// For the input; `high` includes the elements that ceil_mode reads beyond
  /// it.
  SmallVector<int64_t> low, high;
  /// As the file declares it.
  SmallVector<int64_t> declaredHigh;
  Shape output;

  int64_t extent(size_t i) const { return dilations[i] * (kernel[i] - 1) + 1; }
};

/// A list attribute with one positive entry a dimension; 1 where it is absent.
LogicalResult positiveList(NodeContext &c, StringRef name, size_t count,
                           SmallVectorImpl<int64_t> &list);
/// The amounts of `pads`, low ends first; 0 where it is absent.
LogicalResult padsAttr(NodeContext &c, size_t count,
                       SmallVectorImpl<int64_t> &low,
                       SmallVectorImpl<int64_t> &high);
/// The windows of a node whose input 0 is [n, channels, space].
FailureOr<Windows> readWindows(NodeContext &c, ArrayRef<int64_t> kernel);
/// `value` [n, channels, space] with `with` around it.
Value padSpace(Emitter &e, Value value, ArrayRef<int64_t> low,
               ArrayRef<int64_t> high, Value with);

} // namespace mlir::dist::frontend

#endif // DIST_FRONTENDS_ONNX_OPERATORS_WINDOW_H
