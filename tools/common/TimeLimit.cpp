//===- TimeLimit.cpp - An end for what may not end ------------------------===//

#include "tools/common/TimeLimit.h"

#include <chrono>

using namespace dist;

TimeLimit::TimeLimit(double seconds, std::function<void()> giveUp)
    : thread([this, seconds, giveUp = std::move(giveUp)] {
        std::unique_lock<std::mutex> lock(mutex);
        if (!ended.wait_for(lock, std::chrono::duration<double>(seconds),
                            [this] { return hasEnded; }))
          giveUp();
      }) {}

TimeLimit::~TimeLimit() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    hasEnded = true;
  }
  ended.notify_all();
  thread.join();
}
