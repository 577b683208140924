//===- Convolution.h - What convolutions share ------------------*- C++ -*-===//

#ifndef DIST_FRONTENDS_ONNX_OPERATORS_CONVOLUTION_H
#define DIST_FRONTENDS_ONNX_OPERATORS_CONVOLUTION_H

#include "Converter.h"

namespace mlir::dist::frontend {

/// `value` [n, features, space] plus the bias, input `i`, if there is one.
Value addBias(NodeContext &c, size_t i, Value value);

/// Checks image, kernel and bias, of which there must be `features`.
LogicalResult checkConvolution(NodeContext &c, int64_t features);

/// [a, ...] to [groups, a / groups, ...] at dimension `dim`.
Value splitGroups(Emitter &e, Value value, int64_t dim, int64_t groups);

/// Adds to `init` products summed over the window and the channels of a group.
/// Place y and tap t read the image at y * stride + t * dilation + offset.
/// `kernel` is [groups, features, channels, window], or all are without groups.
Value convolveWindows(Emitter &e, Value image, Value kernel, Value init,
                      ArrayRef<int64_t> strides, ArrayRef<int64_t> dilations,
                      ArrayRef<int64_t> offsets);

} // namespace mlir::dist::frontend

#endif // DIST_FRONTENDS_ONNX_OPERATORS_CONVOLUTION_H
