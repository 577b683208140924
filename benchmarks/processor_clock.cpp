//===- processor_clock.cpp - Processor time as the steady clock -----------===//
//
// Loaded before a tool, it has --mlir-timing print processor time. So other
// work on the machine is not counted.
//
//===----------------------------------------------------------------------===//

#include <chrono>
#include <ctime>

std::chrono::steady_clock::time_point
std::chrono::steady_clock::now() noexcept {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return time_point(seconds(now.tv_sec) + nanoseconds(now.tv_nsec));
}
