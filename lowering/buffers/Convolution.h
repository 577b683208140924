//===- Convolution.h - Convolutions among linalg ops ------------*- C++ -*-===//
//
// Recognises by body and indexing maps, never by name, what the runtime's
// convolution computes.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_BUFFERS_CONVOLUTION_H
#define DIST_LOWERING_BUFFERS_CONVOLUTION_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::dist {

/// What each dimension of a convolution's operands is, in the terms of
/// rt.convolve.
struct Convolution {
  /// A dimension over which the window moves.
  struct Window {
    int64_t image, kernel, out, stride, dilation;
    /// Where the first tap of the first place is in the image.
    int64_t offset;
  };
  /// Numbers of the operands.
  unsigned image = 0, kernel = 1;
  SmallVector<int64_t> batch, group, channel, feature;
  SmallVector<Window> windows;
};

/// out += image * kernel where the image is read at sums of a loop of the
/// result and a loop of the kernel, each times a constant, and of a constant
/// that is not negative: one to three such dimensions, and of batch, group,
/// channel and feature at most one each. Fails for every other op.
FailureOr<Convolution> matchConvolution(linalg::LinalgOp op);

} // namespace mlir::dist

#endif // DIST_LOWERING_BUFFERS_CONVOLUTION_H
