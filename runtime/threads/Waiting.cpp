//===- Waiting.cpp - Sleeping, deadlock and failure -----------------------===//

#include "runtime/threads/Waiting.h"

#include <algorithm>
#include <chrono>
#include <climits>
#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

using namespace dist;

// Waking a sleeping core costs tens of microseconds under a hypervisor; ranks
// that compute the same thing arrive about that far apart.
static constexpr int64_t spinNanos = 100'000;

static int64_t nowNanos() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

static void futexWait(std::atomic<uint32_t> &word, uint32_t value) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

static void futexWakeAll(std::atomic<uint32_t> &word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

static void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

void Word::advance() {
  value.fetch_add(step, std::memory_order_seq_cst);
  // Either the sleeper has counted itself before this load, or the kernel sees
  // the new value and does not let it sleep.
  if (sleepers.load(std::memory_order_seq_cst) != 0)
    futexWakeAll(value);
}

void Waiting::setCores(size_t number) {
  std::lock_guard<std::mutex> lock(mutex);
  cores = number;
  updateSpinningLocked();
}

void Waiting::enter() {
  std::lock_guard<std::mutex> lock(mutex);
  ++living;
  updateSpinningLocked();
}

void Waiting::leave(const std::string &reason) {
  std::lock_guard<std::mutex> lock(mutex);
  --living;
  updateSpinningLocked();
  if (!reason.empty())
    departed.push_back(reason);
  checkDeadlockLocked();
}

bool Waiting::wait(Word &word, uint32_t seen,
                   const std::function<std::string()> &what) {
  if (spins.load(std::memory_order_relaxed)) {
    int64_t end = nowNanos() + spinNanos;
    do {
      for (int i = 0; i < 64; ++i) {
        if (word.load() != seen)
          return !failed();
        relax();
      }
      if (failed())
        return false;
    } while (spins.load(std::memory_order_relaxed) && nowNanos() < end);
  }
  if (word.load() != seen)
    return !failed();

  {
    std::lock_guard<std::mutex> lock(mutex);
    if (failed())
      return false;
    sleepers.push_back({&word, seen, &what});
    checkDeadlockLocked();
  }
  word.sleepers.fetch_add(1, std::memory_order_seq_cst);
  // The poison bit makes the value differ from `seen`, too.
  while (word.value.load(std::memory_order_seq_cst) == seen)
    futexWait(word.value, seen);
  word.sleepers.fetch_sub(1, std::memory_order_seq_cst);
  std::lock_guard<std::mutex> lock(mutex);
  sleepers.erase(std::find_if(
      sleepers.begin(), sleepers.end(),
      [&](const Sleeper &sleeper) { return sleeper.what == &what; }));
  return !failed();
}

static void sleepUntil(int64_t nanos) {
  // As the kernel has it, a sleep may take 50 us more than asked for.
  thread_local bool isExact = prctl(PR_SET_TIMERSLACK, 1) == 0;
  (void)isExact;
  std::this_thread::sleep_until(
      std::chrono::steady_clock::time_point(std::chrono::nanoseconds(nanos)));
}

void Waiting::waitUntil(int64_t nanos) const {
  if (spins.load(std::memory_order_relaxed)) {
    if (nowNanos() < nanos - spinNanos)
      sleepUntil(nanos - spinNanos);
    while (spins.load(std::memory_order_relaxed) && nowNanos() < nanos)
      relax();
  }
  sleepUntil(nanos);
}

void Waiting::idle(Word &word, uint32_t seen) {
  word.sleepers.fetch_add(1, std::memory_order_seq_cst);
  // Never registered, so never poisoned: the value is the counter.
  while (word.value.load(std::memory_order_seq_cst) == seen)
    futexWait(word.value, seen);
  word.sleepers.fetch_sub(1, std::memory_order_seq_cst);
}

void Waiting::checkDeadlockLocked() {
  if (failed() || sleepers.empty() || sleepers.size() < living)
    return;
  for (const Sleeper &sleeper : sleepers)
    if (sleeper.word->load() != sleeper.seen)
      return;
  std::string message = "deadlock: every rank waits for another";
  std::vector<std::string> lines = departed;
  for (const Sleeper &sleeper : sleepers)
    lines.push_back((*sleeper.what)());
  std::sort(lines.begin(), lines.end());
  for (const std::string &line : lines)
    message += "\n  " + line;
  failLocked(message);
}

void Waiting::failLocked(const std::string &message) {
  if (failed())
    return;
  text = message;
  hasFailed.store(true, std::memory_order_seq_cst);
  for (const Sleeper &sleeper : sleepers) {
    sleeper.word->value.fetch_or(1, std::memory_order_seq_cst);
    futexWakeAll(sleeper.word->value);
  }
}

bool Waiting::fail(const std::string &message) {
  std::lock_guard<std::mutex> lock(mutex);
  failLocked(message);
  return false;
}

std::string Waiting::message() const {
  std::lock_guard<std::mutex> lock(mutex);
  return text;
}
