//===- Waiting.h - Sleeping, deadlock and failure ---------------*- C++ -*-===//
//
// How the threads of a run wait for each other. A thread waits for a word of
// memory to change: it spins a little where there are cores to spare, then
// sleeps in the kernel. All sleepers are registered, which gives two things:
//   - the failure of one thread wakes all others at once;
//   - when every living thread sleeps and no word has changed, none ever will:
//     that is a deadlock, and it is reported instead of waited out.
// The threads may be in several processes that share the memory of the words
// and of the object. A process that dies keeps nobody waiting for a lock.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_LOCAL_WAITING_H
#define DIST_RUNTIME_LOCAL_WAITING_H

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory_resource>
#include <pthread.h>
#include <string>
#include <vector>

namespace dist {

/// Who uses some memory: threads of one process, or several processes.
enum class Sharing { Threads, Processes };

/// What is said of a run in which nobody goes on; a line for each who waits.
std::string sayDeadlock(std::vector<std::string> lines);

/// A counter that threads wait on. Its lowest bit is set when the run fails
/// under a sleeper.
class Word {
public:
  static constexpr uint32_t step = 2;

  explicit Word(Sharing sharing = Sharing::Threads) : sharing(sharing) {}

  uint32_t load() const { return value.load(std::memory_order_seq_cst) & ~1u; }
  /// Advances the counter and wakes all who wait.
  void advance();

private:
  friend class Waiting;
  void sleep(uint32_t seen);
  void wakeAll();

  std::atomic<uint32_t> value{0};
  std::atomic<uint32_t> sleepers{0};
  const Sharing sharing;
};

class Waiting {
public:
  /// For as many threads as there are slots; each has called takeSlot. Its
  /// memory comes from `memory`.
  Waiting(int64_t slots, Sharing sharing = Sharing::Threads,
          std::pmr::memory_resource *memory = std::pmr::get_default_resource());
  ~Waiting();
  Waiting(const Waiting &) = delete;

  /// The slot of the calling thread. No two threads of a run have the same.
  static void takeSlot(int64_t slot);

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

  /// The calling thread waits for something that no word tells of, or no longer
  /// does (""). Each call begins anew.
  void waitElsewhere(const std::string &line);
  /// Fails the run if a thread has waited so for as long. For who watches, each
  /// second at least: where it did not, it was stopped, and all begin anew.
  /// Not before `grace` more has passed, in which others may say why.
  /// Whether it has.
  bool limitElsewhere(std::chrono::milliseconds most,
                      std::chrono::milliseconds grace = {});

  /// Ends the run; the first message stays, up to kMostText bytes of it.
  /// Returns false.
  bool fail(const std::string &message);
  /// The same for who watches processes, one of which may be stopped inside.
  bool failForOthers(const std::string &message);
  /// The same in a handler of signals, on a thread that goes no further.
  void failAtEnd(const char *message);
  bool failed() const { return hasFailed.load(std::memory_order_seq_cst); }
  std::string message() const;

  /// How many threads have something to do and are not asleep, or are about to
  /// wake; and a line for each that sleeps, or has left.
  struct View {
    size_t awake = 0;
    std::vector<std::string> lines;
  };
  View look() const;

  /// "; before that, rank 1 (tp=1) waits in …" if the thread of this slot does;
  /// of threads of other processes.
  std::string describe(int64_t slot) const;

private:
  static constexpr size_t kMostText = 1 << 16, kMostLine = 256;

  enum class State : uint32_t { Awake, Asleep, Elsewhere, Left };
  struct Slot {
    State state = State::Awake;
    uint32_t seen = 0;
    Word *word = nullptr;
    /// Since when it waits elsewhere, in nanoseconds of the steady clock.
    int64_t since = 0;
    /// What it is doing; of threads of one process, the function says it when
    /// it is asked.
    const std::function<std::string()> *what = nullptr;
    char line[kMostLine] = "";
  };
  struct Lock;

  void failLocked(const std::string &message);
  size_t countAwakeLocked() const;
  std::vector<std::string> describeLocked() const;
  void checkDeadlockLocked();
  void updateSpinningLocked() {
    spins.store(living <= cores, std::memory_order_relaxed);
  }

  const Sharing sharing;
  std::pmr::memory_resource *const memory;
  const int64_t numSlots;
  mutable pthread_mutex_t mutex;
  Slot *slots;
  char *text;
  size_t living = 0, cores = 0, asleep = 0;
  /// When limitElsewhere was called last, and since when again and again.
  int64_t looked = 0, looksSince = 0;
  std::atomic<bool> hasFailed{false};
  std::atomic<bool> spins{false};
};

} // namespace dist

#endif // DIST_RUNTIME_LOCAL_WAITING_H
