//===- Signals.cpp - How a program ends when it is told to ----------------===//

#include "dist/Signals.h"
#include "runtime/host/TemporaryPaths.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace dist;

//===----------------------------------------------------------------------===//
// The list of what is temporary
//===----------------------------------------------------------------------===//
// Whoever changes it holds the lock, with signals blocked on its thread. The
// handler takes the lock and keeps it: from then on nothing temporary is made,
// and nothing is put in its place.

static std::atomic<bool> locked{false};
static TemporaryPath *last = nullptr;
static void (*noteTemporary)(const std::string &, TemporaryPath::Removal,
                             bool) = nullptr;

static void lock() {
  while (locked.exchange(true, std::memory_order_acquire))
    sched_yield();
}

void dist::withoutSignals(const std::function<void()> &step) {
  // Undone by a destructor: a step may throw.
  struct Blocked {
    Blocked() {
      sigset_t all;
      sigfillset(&all);
      pthread_sigmask(SIG_BLOCK, &all, &old);
      lock();
    }
    ~Blocked() {
      locked.store(false, std::memory_order_release);
      pthread_sigmask(SIG_SETMASK, &old, nullptr);
    }
    sigset_t old;
  } blocked;
  step();
}

/// Removes a file, or a folder with all in it. While other threads still make
/// files in the folder it is tried again. System calls only.
static void removeTree(int folder, const char *name, int depth) {
  if (unlinkat(folder, name, 0) == 0 || errno == ENOENT || depth > 8)
    return;
  for (int attempt = 0; attempt < 1000; ++attempt) {
    int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (fd < 0)
      return;
    struct Entry { // linux_dirent64
      uint64_t inode;
      int64_t offset;
      unsigned short bytes;
      unsigned char type;
      char name[];
    };
    alignas(Entry) char entries[2048];
    long bytes;
    while ((bytes = syscall(SYS_getdents64, fd, entries, sizeof entries)) > 0)
      for (long at = 0; at < bytes;) {
        Entry *entry = reinterpret_cast<Entry *>(entries + at);
        at += entry->bytes;
        if (std::strcmp(entry->name, ".") && std::strcmp(entry->name, ".."))
          removeTree(fd, entry->name, depth + 1);
      }
    close(fd);
    if (unlinkat(folder, name, AT_REMOVEDIR) == 0 || errno != ENOTEMPTY)
      return;
  }
}

namespace dist {
void removeTemporaryPaths() {
  for (TemporaryPath *path = last; path; path = path->previous)
    path->remove();
}
} // namespace dist

TemporaryPath::TemporaryPath(std::string path, Removal removal)
    : name(std::move(path)), removal(removal) {
  withoutSignals([this] {
    previous = last;
    if (previous)
      previous->next = this;
    last = this;
    if (noteTemporary)
      noteTemporary(name, this->removal, /*isThere=*/true);
  });
}

void TemporaryPath::remove() const {
  if (removal == All)
    removeTree(AT_FDCWD, name.c_str(), 0);
  else
    rmdir(name.c_str());
}

TemporaryPath::~TemporaryPath() {
  remove();
  withoutSignals([this] {
    if (previous)
      previous->next = next;
    (next ? next->previous : last) = previous;
    if (noteTemporary)
      noteTemporary(name, removal, /*isThere=*/false);
  });
}

void dist::noteTemporaryPaths(void (*note)(const std::string &,
                                           TemporaryPath::Removal, bool)) {
  withoutSignals([&] { noteTemporary = note; });
}

std::string dist::machineName() {
  char name[HOST_NAME_MAX + 1] = "";
  if (gethostname(name, sizeof name - 1) != 0)
    name[0] = 0;
  return name;
}

std::string TemporaryPath::beside(const std::string &path) {
  // Numbers of processes come again, and a process that was killed leaves what
  // it had made: the random part keeps names apart.
  static std::atomic<uint64_t> count{0};
  uint64_t random = 0;
  if (getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random)
    random = static_cast<uint64_t>(
        std::chrono::system_clock::now().time_since_epoch().count());
  char number[32];
  std::snprintf(
      number, sizeof number, "%012llx",
      static_cast<unsigned long long>((random + count++) & 0xffffffffffff));
  std::string suffix =
      ".tmp-" + std::to_string(getpid()) + "-" + number + "-" + machineName();
  // The name stays one that a folder can hold; a character is cut whole.
  size_t name = path.find_last_of('/') + 1;
  size_t most = NAME_MAX - suffix.size(), end = path.size();
  if (end - name > most)
    for (end = name + most; end > name && (path[end] & 0xc0) == 0x80;)
      --end;
  return path.substr(0, end) + suffix;
}

//===----------------------------------------------------------------------===//
// Messages of the handler
//===----------------------------------------------------------------------===//

static char toolName[64] = "dist";
static thread_local char threadText[128] = "";

void dist::describeThread(const std::string &text) {
  std::snprintf(threadText, sizeof threadText, "%s", text.c_str());
  // As debuggers show it; the program itself keeps its name.
  if (gettid() != getpid())
    prctl(PR_SET_NAME, threadText);
}

namespace {

/// A line of text that allocates nothing.
struct Line {
  char text[4096 + 512];
  size_t length = 0;

  Line &operator<<(const char *more) {
    while (*more && length < sizeof text)
      text[length++] = *more++;
    return *this;
  }
  Line &operator<<(uint64_t number) {
    char digits[24], *at = digits + sizeof digits;
    *--at = '\0';
    do
      *--at = static_cast<char>('0' + number % 10);
    while (number /= 10);
    return *this << at;
  }
};

/// Reads /proc/self/maps line by line, without a buffer of stdio's.
class Maps {
public:
  Maps() : fd(open("/proc/self/maps", O_RDONLY | O_CLOEXEC)) {}

  /// False at the end; `line` is cut at its size.
  bool next(char *line, size_t size) {
    size_t length = 0;
    for (;;) {
      if (at == filled) {
        filled = fd < 0 ? 0 : read(fd, buffer, sizeof buffer);
        at = 0;
        if (filled <= 0)
          return false;
      }
      char c = buffer[at++];
      if (c == '\n') {
        line[length] = '\0';
        return true;
      }
      if (length + 1 < size)
        line[length++] = c;
    }
  }

private:
  int fd;
  char buffer[1024];
  long at = 0, filled = 0;
};

} // namespace

static uint64_t parseHex(const char *&text) {
  uint64_t value = 0;
  for (;; ++text) {
    int digit = *text >= '0' && *text <= '9'   ? *text - '0'
                : *text >= 'a' && *text <= 'f' ? *text - 'a' + 10
                                               : -1;
    if (digit < 0)
      return value;
    value = value << 4 | static_cast<uint64_t>(digit);
  }
}

/// Whether `address` lies in a mapped file: its path, and the byte of it.
static bool findMappedByte(uint64_t address, char *line, size_t size,
                           const char *&path, uint64_t &byte) {
  Maps maps;
  while (maps.next(line, size)) {
    // from-to permissions offset device inode path
    const char *at = line;
    uint64_t from = parseHex(at), to = parseHex(++at);
    if (address < from || address >= to)
      continue;
    path = std::strchr(line, '/');
    while (*++at && *at != ' ')
      ;
    byte = parseHex(++at) + (address - from);
    return path != nullptr;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Handlers
//===----------------------------------------------------------------------===//

static bool (*isReadyToEnd)(int signal) = nullptr;

static void awaitReady(int signal) {
  constexpr timespec kTick{0, 5'000'000};
  for (int i = 0; i < 100 && isReadyToEnd && !isReadyToEnd(signal); ++i)
    nanosleep(&kTick, nullptr);
}

/// For `signal`, unless it is 0.
[[noreturn]] static void end(int status, int signal = 0) {
  // First, as whoever started the process may kill it soon.
  lock();
  removeTemporaryPaths();
  if (signal)
    awaitReady(signal);
  _exit(status);
}

void dist::endProcess(int status) { end(status); }

static void onSignal(int signal, siginfo_t *info, void *) {
  // The kernel's, in the name of this process: the write that hit the limit
  // fails, and says so.
  if (signal == SIGXFSZ && info->si_pid == getpid())
    return;
  end(128 + signal, signal);
}

static void onCrash(int signal) {
  awaitReady(signal);
  // It comes when this returns.
  std::signal(signal, SIG_DFL);
  raise(signal);
}

static struct sigaction otherBusHandler;
/// Of a rank's process.
static void (*reportEnd)(const char *message) = nullptr;

static void onBusError(int, siginfo_t *info, void *) {
  char line[4096];
  const char *path;
  uint64_t byte;
  if (info->si_code != BUS_ADRERR ||
      !findMappedByte(reinterpret_cast<uint64_t>(info->si_addr), line,
                      sizeof line, path, byte)) {
    // The access is tried again, and fails again.
    sigaction(SIGBUS, &otherBusHandler, nullptr);
    return;
  }
  Line message;
  if (!reportEnd)
    message << toolName << ": error: ";
  message << path << ": byte " << byte
          << " cannot be read: the file was cut short, or its device failed, "
             "while ";
  message << (threadText[0] ? threadText : toolName) << " was using it";
  if (reportEnd) {
    message.text[std::min(message.length, sizeof message.text - 1)] = '\0';
    reportEnd(message.text);
    end(1);
  }
  message << "\n";
  if (write(STDERR_FILENO, message.text, message.length) < 0) {
    // There is nobody left to tell.
  }
  end(1, SIGBUS);
}

static constexpr int endingSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE,
                                        SIGXFSZ};

/// Those that were ignored when the program began, before anything else
/// installs handlers.
static const sigset_t ignoredSignals = [] {
  sigset_t ignored;
  sigemptyset(&ignored);
  for (int signal : endingSignals) {
    struct sigaction action;
    if (sigaction(signal, nullptr, &action) == 0 &&
        !(action.sa_flags & SA_SIGINFO) && action.sa_handler == SIG_IGN)
      sigaddset(&ignored, signal);
  }
  return ignored;
}();

void dist::handleSignals(const char *tool) {
  std::snprintf(toolName, sizeof toolName, "%s", tool);
  struct sigaction action = {};
  action.sa_sigaction = onSignal;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigfillset(&action.sa_mask);
  for (int signal : endingSignals) {
    if (!sigismember(&ignoredSignals, signal)) {
      sigaction(signal, &action, nullptr);
      continue;
    }
    struct sigaction ignore = {};
    ignore.sa_handler = SIG_IGN;
    sigaction(signal, &ignore, nullptr);
  }
  action.sa_sigaction = onBusError;
  sigaction(SIGBUS, &action, &otherBusHandler);
}

void dist::leaveSignalsToOthers() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

void dist::waitBeforeEnding(bool (*isReady)(int signal)) {
  isReadyToEnd = isReady;
  struct sigaction action = {};
  action.sa_handler = onCrash;
  sigfillset(&action.sa_mask);
  for (int signal : {SIGSEGV, SIGILL, SIGFPE, SIGABRT})
    sigaction(signal, &action, nullptr);
}

void dist::becomeRankProcess(void (*report)(const char *message)) {
  reportEnd = report;
  last = nullptr;
  locked.store(false);
  for (int signal : {SIGINT, SIGHUP, SIGPIPE}) {
    struct sigaction ignore = {};
    ignore.sa_handler = SIG_IGN;
    sigaction(signal, &ignore, nullptr);
  }
  struct sigaction plain = {};
  plain.sa_handler = SIG_DFL;
  for (int signal : {SIGTERM, SIGXFSZ, SIGSEGV, SIGILL, SIGFPE, SIGABRT})
    sigaction(signal, &plain, nullptr);
}
