//===- Device.h - Work of libraries on the emulated device ------*- C++ -*-===//

#ifndef DIST_RUNTIME_EMULATED_DRIVER_DEVICE_H
#define DIST_RUNTIME_EMULATED_DRIVER_DEVICE_H

#include "runtime/cuda/DriverApi.h"
#include "runtime/emulated/Executor.h"

#include <functional>
#include <string>

namespace dist::emulated {

/// Work on the device's memory. Where it fails, it says why, and the device is
/// broken as after a kernel's fault.
using DeviceWork = std::function<cuda::Result(Memory &, std::string &problem)>;

/// Queues work on a stream of the current context, as a launch.
cuda::Result issueOnDevice(cuda::Stream stream, DeviceWork work);

} // namespace dist::emulated

#endif // DIST_RUNTIME_EMULATED_DRIVER_DEVICE_H
