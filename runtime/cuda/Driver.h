//===- Driver.h - NVIDIA's driver, loaded when it is asked for --*- C++ -*-===//

#ifndef DIST_RUNTIME_CUDA_DRIVER_H
#define DIST_RUNTIME_CUDA_DRIVER_H

#include "runtime/cuda/DriverApi.h"

#include <memory>
#include <string>

namespace dist::cuda {

/// The driver's functions. It stays loaded until the process ends.
class Driver : public DriverFunctions {
public:
  /// Loads libcuda.so.1; for "emulated" dist-driver-emulated.so beside the
  /// program, for "emulated:ORDER" in that order (emulated/driver/Driver.h);
  /// else the library of that path. Throws Error.
  explicit Driver(const std::string &name);
  /// Throws Error if that would, as far as can be said without the GPU: a
  /// process that has begun to use it must not fork.
  static void checkThere(const std::string &name);

  /// Throws Error if a call of the driver has failed: `doing`, and the driver's
  /// own words.
  void check(Result result, const std::string &doing) const;

  /// Whether nothing runs on a GPU; then its library has stand-ins of others.
  bool isEmulated() const { return isStandIn; }
  void *library() const { return loaded; }

private:
  void *loaded = nullptr;
  bool isStandIn = false;
};

} // namespace dist::cuda

#endif // DIST_RUNTIME_CUDA_DRIVER_H
