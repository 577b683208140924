//===- RanksMemory.h - What ranks hold between two steps --------*- C++ -*-===//
//
// For backends whose ranks' memory the first process reads.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_LAUNCH_RANKSMEMORY_H
#define DIST_RUNTIME_LAUNCH_RANKSMEMORY_H

#include "dist/Executor.h"

namespace dist {

class RanksMemory : public Holdings {
public:
  explicit RanksMemory(const Manifest &manifest) : manifest(manifest) {}

  void copyArgument(size_t index, Tensor &whole) const override {
    const TensorDesc &desc = manifest.arguments[index];
    for (int64_t rank = 0; rank < manifest.mesh.size(); ++rank)
      if (isWriter(manifest.mesh, desc, rank))
        writeSlice(manifest.mesh, desc, rank, argumentAt(rank, index), whole);
  }
  Tensor getResult(size_t index) const override {
    const TensorDesc &desc = manifest.results[index];
    Tensor whole = Tensor::zeros(desc.dtype, desc.sourceShape());
    for (int64_t rank = 0; rank < manifest.mesh.size(); ++rank)
      if (isWriter(manifest.mesh, desc, rank))
        writeSlice(manifest.mesh, desc, rank, resultAt(rank, index), whole);
    return whole;
  }

protected:
  /// Until the next call.
  virtual const void *argumentAt(int64_t rank, size_t index) const = 0;
  virtual const void *resultAt(int64_t rank, size_t index) const = 0;

  const Manifest &manifest;
};

} // namespace dist

#endif // DIST_RUNTIME_LAUNCH_RANKSMEMORY_H
