//===- DeviceTrace.cpp - When a GPU's work begins and ends ----------------===//

#include "runtime/cuda/DeviceTrace.h"

#include <chrono>
#include <utility>

using namespace dist;
using namespace dist::cuda;

DeviceTrace::~DeviceTrace() {
  for (const Entry &one : entries) {
    driver.cuEventDestroy(one.begin);
    driver.cuEventDestroy(one.end);
  }
  for (Event event : {begun, first})
    if (event)
      driver.cuEventDestroy(event);
}

Event DeviceTrace::record(Stream stream) {
  Event event = nullptr;
  driver.check(driver.cuEventCreate(&event, 0), "no event of the GPU");
  driver.check(driver.cuEventRecord(event, stream), "cuEventRecord");
  return event;
}

void DeviceTrace::begin(Stream stream) {
  if (!first) {
    first = record(stream);
    driver.check(driver.cuEventSynchronize(first), "the GPU's work");
    firstNanos = std::chrono::steady_clock::now().time_since_epoch().count();
  }
  begun = record(stream);
}

void DeviceTrace::end(TraceEvent what, Stream stream) {
  entries.push_back(
      {std::move(what), std::exchange(begun, nullptr), record(stream)});
}

int64_t DeviceTrace::nanosOf(Event event) const {
  float milliseconds = 0;
  driver.check(driver.cuEventElapsedTime(&milliseconds, first, event),
               "cuEventElapsedTime");
  return firstNanos + int64_t(double(milliseconds) * 1e6);
}

std::vector<TraceEvent> DeviceTrace::take() {
  std::vector<TraceEvent> all;
  for (Entry &one : std::exchange(entries, {})) {
    one.what.startNanos = nanosOf(one.begin);
    one.what.endNanos = nanosOf(one.end);
    all.push_back(std::move(one.what));
    driver.cuEventDestroy(one.begin);
    driver.cuEventDestroy(one.end);
  }
  return all;
}
