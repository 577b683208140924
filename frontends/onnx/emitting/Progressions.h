//===- Progressions.h - Indices that follow each other ----------*- C++ -*-===//
//
// Which indices name a part of a tensor at regular distances: what gathers and
// scatters by them are slices.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_FRONTENDS_ONNX_EMITTING_PROGRESSIONS_H
#define DIST_FRONTENDS_ONNX_EMITTING_PROGRESSIONS_H

#include "Emitter.h"

namespace mlir::dist::frontend {

/// An index counted from the front; none where it is out of range.
std::optional<int64_t> toPosition(int64_t index, int64_t size);

/// offset + the sum of steps[i] times the index along dimension i; the step is
/// 0 along dimensions of size 1.
struct Progression {
  int64_t offset = 0;
  SmallVector<int64_t> steps;

  /// The only dimension with a step, which is positive, or -1 if there is none.
  std::optional<int64_t> findDim() const;
};

/// Of positions of `size` that the elements of a tensor of that shape are. If
/// `component` is not -1, of those with that index along the last dimension.
std::optional<Progression>
readProgression(ArrayRef<int64_t> shape, int64_t component, int64_t size,
                llvm::function_ref<int64_t(int64_t)> getElement);

/// The same of an integer tensor that is made of constants and parameters by
/// moving and repeating them.
std::optional<Progression> findProgression(Emitter &e, Value value,
                                           int64_t component, int64_t size);

} // namespace mlir::dist::frontend

#endif // DIST_FRONTENDS_ONNX_EMITTING_PROGRESSIONS_H
