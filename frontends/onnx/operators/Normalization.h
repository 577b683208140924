//===- Normalization.h - What norms are made of -----------------*- C++ -*-===//
//
// Statistics of tensors, and norms with a scale and a bias.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_FRONTENDS_ONNX_OPERATORS_NORMALIZATION_H
#define DIST_FRONTENDS_ONNX_OPERATORS_NORMALIZATION_H

#include "NodeContext.h"

namespace mlir::dist::frontend {

struct Statistics {
  /// Kept dimensions have size 1; `squares` is the sum of those of `centered`.
  Value mean, squares, inverseDeviation;
  Value centered;
};

/// Mean and 1 / sqrt(variance + epsilon) over `axes`; without a mean, of the
/// values themselves.
Statistics computeStatistics(Emitter &e, Value value, ArrayRef<int64_t> axes,
                             double epsilon, bool centers);

/// Scale and bias, which broadcast, of what the statistics are of.
Value applyNorm(Emitter &e, const Statistics &statistics, Value scale,
                Value bias);

/// The type in which statistics of `type` are kept.
DType statisticsType(DType type);

/// The attribute, or an error if it is not finite.
double epsilonOf(NodeContext &c);

/// Whether the inputs `first` to `last` are vectors of `channels` numbers.
LogicalResult checkChannels(NodeContext &c, size_t first, size_t last,
                            int64_t channels);

/// Such an input as one that broadcasts to [n, channels, …].
Value perChannel(NodeContext &c, size_t i, int64_t rank);

/// BatchNormalization, of the batch's statistics or recorded ones.
LogicalResult batchNorm(NodeContext &c);

} // namespace mlir::dist::frontend

#endif // DIST_FRONTENDS_ONNX_OPERATORS_NORMALIZATION_H
