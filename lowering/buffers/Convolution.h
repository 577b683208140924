//===- Convolution.h - Convolutions among linalg ops ------------*- C++ -*-===//
//
// Recognizes the runtime's convolution by body and indexing maps, never by
// name.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_BUFFERS_CONVOLUTION_H
#define DIST_LOWERING_BUFFERS_CONVOLUTION_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::dist {

/// The dimensions of a convolution's operands, as in rt.convolve.
struct Convolution {
  /// A dimension over which the window moves.
  struct Window {
    int64_t image, kernel, out, stride, dilation;
    /// The position in the image of the first tap of the first window.
    int64_t offset;
  };
  /// Numbers of the operands.
  unsigned image = 0, kernel = 1;
  SmallVector<int64_t> batch, group, channel, feature;
  SmallVector<Window> windows;
};

/// Matches out += image * kernel in which the image is indexed by sums. Each
/// sum is a loop of the result and a loop of the kernel, each times a constant,
/// plus a constant that is not negative. There are one to three such
/// dimensions, and at most one each of batch, group, channel and feature. Fails
/// for every other op.
FailureOr<Convolution> matchConvolution(linalg::LinalgOp op);

} // namespace mlir::dist

#endif // DIST_LOWERING_BUFFERS_CONVOLUTION_H
