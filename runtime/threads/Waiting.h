//===- Waiting.h - Sleeping, deadlock and failure ---------------*- C++ -*-===//
//
// How the threads of a run wait for each other. A thread waits for a word of
// memory to change: it spins a little where there are cores to spare, then
// sleeps in the kernel. All sleepers are registered, which gives two things:
//   - the failure of one thread wakes all others at once;
//   - when every living thread sleeps and no word has changed, none ever will:
//     that is a deadlock, and it is reported instead of waited out.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_THREADS_WAITING_H
#define DIST_RUNTIME_THREADS_WAITING_H

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace dist {

/// A counter that threads wait on. Its lowest bit is set when the run fails
/// under a sleeper.
class Word {
public:
  static constexpr uint32_t step = 2;

  uint32_t load() const { return value.load(std::memory_order_seq_cst) & ~1u; }
  /// Advances the counter and wakes all who wait.
  void advance();

private:
  friend class Waiting;
  std::atomic<uint32_t> value{0};
  std::atomic<uint32_t> sleepers{0};
};

class Waiting {
public:
  /// Threads may spin while there is a core for each that has something to do.
  void setCores(size_t number);

  /// A thread that others may wait for gets something to do, or has nothing
  /// left to do. What is left in `reason` is named should others wait for it.
  void enter();
  void leave(const std::string &reason = "");

  /// Returns once `word` differs from `seen`: true, or false if the run has
  /// failed. `what` says what the thread is doing, for a deadlock's message.
  bool wait(Word &word, uint32_t seen,
            const std::function<std::string()> &what);

  /// Returns at this time of the steady clock, in nanoseconds; a sleeping
  /// thread wakes some tens of microseconds later, one that may spin does not.
  void waitUntil(int64_t nanos) const;

  /// Like wait, for a thread with nothing to do: it keeps no run alive, and
  /// failure does not wake it.
  static void idle(Word &word, uint32_t seen);

  /// Ends the run; the first message stays. Returns false.
  bool fail(const std::string &message);
  bool failed() const { return hasFailed.load(std::memory_order_seq_cst); }
  std::string message() const;

private:
  struct Sleeper {
    Word *word;
    uint32_t seen;
    const std::function<std::string()> *what;
  };
  void failLocked(const std::string &message);
  void checkDeadlockLocked();
  void updateSpinningLocked() {
    spins.store(living <= cores, std::memory_order_relaxed);
  }

  mutable std::mutex mutex;
  std::vector<Sleeper> sleepers;
  std::vector<std::string> departed;
  size_t living = 0, cores = 0;
  std::atomic<bool> hasFailed{false};
  std::atomic<bool> spins{false};
  std::string text;
};

} // namespace dist

#endif // DIST_RUNTIME_THREADS_WAITING_H
