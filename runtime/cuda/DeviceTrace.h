//===- DeviceTrace.h - When a GPU's work begins and ends --------*- C++ -*-===//

#ifndef DIST_RUNTIME_CUDA_DEVICETRACE_H
#define DIST_RUNTIME_CUDA_DEVICETRACE_H

#include "runtime/cuda/Driver.h"
#include "runtime/rank/Rank.h"

#include <vector>

namespace dist::cuda {

/// Times of what is queued, by an event before it and one behind it.
class DeviceTrace {
public:
  explicit DeviceTrace(const Driver &driver) : driver(driver) {}
  ~DeviceTrace();
  DeviceTrace(const DeviceTrace &) = delete;

  /// Something is about to be queued. The first call waits for the stream: from
  /// there on the device's clock is that of the host.
  void begin(Stream stream);
  /// It has been queued: `what`, but for its times.
  void end(TraceEvent what, Stream stream);

  /// All of it, with times. After a wait for all streams.
  std::vector<TraceEvent> take();

private:
  struct Entry {
    TraceEvent what;
    Event begin, end;
  };

  Event record(Stream stream);
  int64_t nanosOf(Event event) const;

  const Driver &driver;
  Event first = nullptr, begun = nullptr;
  int64_t firstNanos = 0;
  std::vector<Entry> entries;
};

} // namespace dist::cuda

#endif // DIST_RUNTIME_CUDA_DEVICETRACE_H
