//===- DeviceMemory.h - Operands of collectives on a GPU --------*- C++ -*-===//

#ifndef DIST_RUNTIME_CUDA_DEVICEMEMORY_H
#define DIST_RUNTIME_CUDA_DEVICEMEMORY_H

#include "runtime/collectives/OperandMemory.h"
#include "runtime/cuda/Driver.h"

#include <map>
#include <string>

namespace dist::cuda {

/// The kernels of kernels/Collectives.cpp, on the current device.
class CollectiveKernels {
public:
  /// Throws Error.
  explicit CollectiveKernels(const Driver &driver);
  ~CollectiveKernels();
  CollectiveKernels(const CollectiveKernels &) = delete;

  /// Queues one, for so many elements or words, with its argument, a structure
  /// of kernels/Arguments.h.
  void launch(const std::string &name, int64_t count, const void *argument,
              Stream stream);

private:
  const Driver &driver;
  Module module = nullptr;
  std::map<std::string, Function> functions;
};

/// Memory of the current device. All is queued on one stream.
class DeviceMemory final : public OperandMemory {
public:
  DeviceMemory(const Driver &driver, CollectiveKernels &kernels, Stream stream)
      : driver(driver), kernels(kernels), stream(stream) {}
  ~DeviceMemory() override {
    wide.reset();
    freeReturned();
  }

  Stream queuedOn() const { return stream; }
  /// Frees what allocate has given and nobody owns any more, when all that was
  /// queued is done: the driver would wait for the whole device.
  void freeReturned();

  std::shared_ptr<char> allocate(int64_t bytes) override;
  void copy(const Copy &copy, const char *from, char *to) override;
  void reduce(dist_dtype dtype, dist_op op, const std::vector<ConstRuns> &ins,
              Runs out, int64_t runs, int64_t count) override;
  void fill(dist_dtype dtype, int64_t element, Runs out, int64_t runs,
            int64_t count) override;

private:
  const Driver &driver;
  CollectiveKernels &kernels;
  Stream stream;
  std::vector<char *> returned;
  /// Sums so far.
  std::shared_ptr<char> wide;
  int64_t wideBytes = 0;
};

} // namespace dist::cuda

#endif // DIST_RUNTIME_CUDA_DEVICEMEMORY_H
