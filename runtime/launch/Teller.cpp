//===- Teller.cpp - Tells of a failure while others compute ---------------===//

#include "runtime/launch/Teller.h"
#include "dist/Signals.h"

#include <chrono>
#include <utility>

using namespace dist;

Teller::Teller(std::function<void(const std::string &)> given)
    : tell(std::move(given)), thread([this] { run(); }) {}

Teller::~Teller() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    isClosing = true;
    changed.notify_all();
  }
  thread.join();
}

void Teller::hear(const std::string &message) {
  std::lock_guard<std::mutex> lock(mutex);
  heard = message;
  changed.notify_all();
}

bool Teller::claim() {
  std::unique_lock<std::mutex> lock(mutex);
  if (std::exchange(isClaimed, true)) {
    changed.wait(lock, [this] { return isTold || isClosing; });
    return false;
  }
  // Whoever started the processes may end this one before it is out.
  leaveSignalsToOthers();
  return true;
}

void Teller::finish() {
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [this] { return heard.empty() || isTold || isClosing; });
}

void Teller::run() {
  leaveSignalsToOthers();
  // The others have as long to end by themselves as processes of one host.
  constexpr std::chrono::milliseconds kGrace(1500);
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [this] { return isClosing || !heard.empty(); });
  if (!isClosing && !std::exchange(isClaimed, true)) {
    lock.unlock();
    tell(heard);
    lock.lock();
    isTold = true;
    changed.notify_all();
    if (!changed.wait_for(lock, kGrace, [this] { return isClosing; }))
      endProcess(1);
  }
}
