//===- Waiting.cpp - Sleeping, deadlock and failure -----------------------===//

#include "runtime/local/Waiting.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <linux/futex.h>
#include <memory>
#include <span>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace dist;

// Waking a sleeping core costs tens of microseconds under a hypervisor; ranks
// that compute the same thing arrive about that far apart.
static constexpr int64_t spinNanos = 100'000;

static int64_t nowNanos() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

static void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// As the C library has it for words that no other process sees.
static int futexOf(int operation, Sharing sharing) {
  return sharing == Sharing::Threads ? operation | FUTEX_PRIVATE_FLAG
                                     : operation;
}

void Word::sleep(uint32_t seen) {
  sleepers.fetch_add(1, std::memory_order_seq_cst);
  // The poison bit makes the value differ from `seen`, too.
  while (value.load(std::memory_order_seq_cst) == seen)
    syscall(SYS_futex, &value, futexOf(FUTEX_WAIT, sharing), seen, nullptr,
            nullptr, 0);
  sleepers.fetch_sub(1, std::memory_order_seq_cst);
}

void Word::wakeAll() {
  syscall(SYS_futex, &value, futexOf(FUTEX_WAKE, sharing), INT_MAX, nullptr,
          nullptr, 0);
}

void Word::advance() {
  value.fetch_add(step, std::memory_order_seq_cst);
  // Either the sleeper has counted itself before this load, or the kernel sees
  // the new value and does not let it sleep.
  if (sleepers.load(std::memory_order_seq_cst) != 0)
    wakeAll();
}

//===----------------------------------------------------------------------===//
// What all threads know
//===----------------------------------------------------------------------===//

/// Whoever dies with the lock leaves it to the next: the run fails for that
/// death, and what is half written is at worst a line of a message.
struct Waiting::Lock {
  explicit Lock(pthread_mutex_t &mutex) : mutex(mutex) {
    take(pthread_mutex_lock(&mutex));
  }
  /// For who must not wait for a process that was stopped with the lock. Others
  /// hold it for microseconds.
  Lock(pthread_mutex_t &mutex, std::chrono::seconds most) : mutex(mutex) {
    timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += most.count();
    take(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &end));
  }
  ~Lock() {
    if (isOwned)
      pthread_mutex_unlock(&mutex);
  }

  void take(int error) {
    if (error == EOWNERDEAD)
      pthread_mutex_consistent(&mutex);
    isOwned = error != ETIMEDOUT;
  }

  pthread_mutex_t &mutex;
  bool isOwned;
};

static thread_local int64_t ownSlot = 0;

void Waiting::takeSlot(int64_t slot) { ownSlot = slot; }

Waiting::Waiting(int64_t slots, Sharing sharing,
                 std::pmr::memory_resource *memory)
    : sharing(sharing), memory(memory), numSlots(slots),
      slots(static_cast<Slot *>(
          memory->allocate(slots * sizeof(Slot), alignof(Slot)))),
      text(static_cast<char *>(memory->allocate(kMostText, 1))) {
  std::uninitialized_value_construct_n(this->slots, slots);
  text[0] = '\0';
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  if (sharing == Sharing::Processes) {
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  }
  pthread_mutex_init(&mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
}

Waiting::~Waiting() {
  pthread_mutex_destroy(&mutex);
  memory->deallocate(slots, numSlots * sizeof(Slot), alignof(Slot));
  memory->deallocate(text, kMostText, 1);
}

void Waiting::setCores(size_t number) {
  Lock lock(mutex);
  cores = number;
  updateSpinningLocked();
}

void Waiting::enter() {
  Lock lock(mutex);
  ++living;
  updateSpinningLocked();
}

void Waiting::leave(const std::string &reason) {
  Lock lock(mutex);
  --living;
  updateSpinningLocked();
  if (!reason.empty()) {
    Slot &slot = slots[ownSlot];
    slot.state = State::Left;
    std::snprintf(slot.line, sizeof slot.line, "%s", reason.c_str());
  }
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

  Slot &slot = slots[ownSlot];
  const Slot before = slot;
  {
    Lock lock(mutex);
    if (failed())
      return false;
    slot.state = State::Asleep;
    slot.word = &word;
    slot.seen = seen;
    slot.what = &what;
    if (sharing == Sharing::Processes)
      std::snprintf(slot.line, sizeof slot.line, "%s", what().c_str());
    ++asleep;
    checkDeadlockLocked();
  }
  word.sleep(seen);
  Lock lock(mutex);
  // It may wait elsewhere, too.
  slot = before;
  slot.since = nowNanos();
  --asleep;
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
  // Never registered, so never poisoned: the value is the counter.
  word.sleep(seen);
}

std::string dist::sayDeadlock(std::vector<std::string> lines) {
  std::sort(lines.begin(), lines.end());
  std::string message = "deadlock: every rank waits for another";
  for (const std::string &line : lines)
    message += "\n  " + line;
  return message;
}

void Waiting::waitElsewhere(const std::string &line) {
  Lock lock(mutex);
  Slot &slot = slots[ownSlot];
  slot.state = line.empty() ? State::Awake : State::Elsewhere;
  slot.since = nowNanos();
  std::snprintf(slot.line, sizeof slot.line, "%s", line.c_str());
}

bool Waiting::limitElsewhere(std::chrono::milliseconds most,
                             std::chrono::milliseconds grace) {
  constexpr int64_t kLong = 3'000'000'000;
  int64_t now = nowNanos(),
          since = now - std::chrono::nanoseconds(most + grace).count();
  if (now - std::exchange(looked, now) > kLong)
    looksSince = now;
  if (looksSince > since || failed())
    return false;
  Lock lock(mutex, std::chrono::seconds(1));
  for (const Slot &slot : std::span(slots, numSlots)) {
    if (slot.state != State::Elsewhere || slot.since > since)
      continue;
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%g", most.count() / 1000.0);
    std::string message = "nothing has come of what a rank waits for, for " +
                          std::string(seconds) + " s (--timeout gives more)";
    for (const std::string &line : describeLocked())
      message += "\n  " + line;
    failLocked(message);
    return true;
  }
  return false;
}

size_t Waiting::countAwakeLocked() const {
  size_t waking = 0;
  for (const Slot &slot : std::span(slots, numSlots))
    waking += slot.state == State::Asleep && slot.word->load() != slot.seen;
  return living + waking - std::min(living, asleep);
}

std::vector<std::string> Waiting::describeLocked() const {
  std::vector<std::string> lines;
  for (const Slot &slot : std::span(slots, numSlots))
    if (slot.state == State::Asleep && sharing == Sharing::Threads)
      lines.push_back((*slot.what)());
    else if (slot.state != State::Awake)
      lines.push_back(slot.line);
  return lines;
}

Waiting::View Waiting::look() const {
  Lock lock(mutex);
  return {countAwakeLocked(), describeLocked()};
}

void Waiting::checkDeadlockLocked() {
  if (!failed() && asleep > 0 && asleep >= living && countAwakeLocked() == 0)
    failLocked(sayDeadlock(describeLocked()));
}

void Waiting::failLocked(const std::string &message) {
  failAtEnd(message.c_str());
}

void Waiting::failAtEnd(const char *message) {
  if (failed())
    return;
  size_t length = std::min(std::strlen(message), kMostText - 1);
  std::memcpy(text, message, length);
  text[length] = '\0';
  hasFailed.store(true, std::memory_order_seq_cst);
  for (const Slot &slot : std::span(slots, numSlots))
    if (slot.state == State::Asleep) {
      slot.word->value.fetch_or(1, std::memory_order_seq_cst);
      slot.word->wakeAll();
    }
}

bool Waiting::fail(const std::string &message) {
  Lock lock(mutex);
  failLocked(message);
  return false;
}

std::string Waiting::message() const {
  Lock lock(mutex, std::chrono::seconds(1));
  return text;
}

bool Waiting::failForOthers(const std::string &message) {
  Lock lock(mutex, std::chrono::seconds(1));
  failLocked(message);
  return false;
}

std::string Waiting::describe(int64_t slot) const {
  Lock lock(mutex, std::chrono::seconds(1));
  const Slot &one = slots[slot];
  return one.state == State::Asleep || one.state == State::Elsewhere
             ? std::string("; before that, ") + one.line
             : std::string();
}
