//===- TimeLimit.h - An end for what may not end ----------------*- C++ -*-===//
//
// Compiled code cannot be stopped from outside; the program that runs it can.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_TOOLS_COMMON_TIMELIMIT_H
#define DIST_TOOLS_COMMON_TIMELIMIT_H

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace dist {

/// Calls `giveUp` on a thread of its own, which must end the program, where it
/// is not destroyed within so many seconds.
class TimeLimit {
public:
  TimeLimit(double seconds, std::function<void()> giveUp);
  ~TimeLimit();
  TimeLimit(const TimeLimit &) = delete;

private:
  std::mutex mutex;
  std::condition_variable ended;
  bool hasEnded = false;
  std::thread thread;
};

} // namespace dist

#endif // DIST_TOOLS_COMMON_TIMELIMIT_H
