//===- RollCall.h - Who is there before MPI is ------------------*- C++ -*-===//
//
// MPI_Init waits for all processes, for ever. So each of them has a name on its
// host before (an abstract socket, gone with the process). If somebody is still
// missing after the timeout, the first that is there says who.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_LAUNCH_ROLLCALL_H
#define DIST_RUNTIME_LAUNCH_ROLLCALL_H

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace dist {

/// While this exists, the process waits for others.
class RollCall {
public:
  /// `tell` writes an error; the process ends after it.
  RollCall(std::chrono::milliseconds timeout,
           std::function<void(const std::string &)> tell);
  ~RollCall();

private:
  void run(std::chrono::milliseconds timeout,
           const std::function<void(const std::string &)> &tell);

  std::mutex mutex;
  std::condition_variable changed;
  bool isOver = false;
  std::thread thread;
};

} // namespace dist

#endif // DIST_RUNTIME_LAUNCH_ROLLCALL_H
