//===- Teller.h - Tells of a failure while others compute -------*- C++ -*-===//
//
// The process that reports may be computing, and notice only at its next
// collective that another rank has failed; meanwhile whoever started the
// processes ends it. So a thread tells at once, and soon ends the process.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_LAUNCH_TELLER_H
#define DIST_RUNTIME_LAUNCH_TELLER_H

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace dist {

class Teller {
public:
  /// `tell` writes an error as the tool does.
  explicit Teller(std::function<void(const std::string &)> tell);
  ~Teller();

  /// The run has failed; returns at once.
  void hear(const std::string &message);
  /// It has failed, and somebody else tells.
  void leaveToOthers() { isTold = true; }
  /// For who tells of an error itself: true if nobody has told, nor will. Else
  /// returns when all is told.
  bool claim();
  /// Returns when it has told what it has heard, if anything.
  void finish();
  /// Whether it is told, or will be elsewhere; also for handlers of signals.
  bool hasTold() const { return isTold; }

private:
  void run();

  std::function<void(const std::string &)> tell;
  std::mutex mutex;
  std::condition_variable changed;
  std::string heard;
  bool isClaimed = false, isClosing = false;
  std::atomic<bool> isTold{false};
  std::thread thread;
};

} // namespace dist

#endif // DIST_RUNTIME_LAUNCH_TELLER_H
