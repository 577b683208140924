//===- MappedFile.cpp - A file as read-only memory ------------------------===//

#include "runtime/host/MappedFile.h"
#include "dist/OutputFile.h"
#include "dist/Tensor.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

using namespace dist;

/// The open file, and what it was like when it was mapped.
struct MappedFile::Source {
  int fd = -1;
  struct stat info;
  Source() = default;
  Source(const Source &) = delete;
  ~Source() {
    if (fd >= 0)
      close(fd);
  }
};

namespace {
/// Files that are mapped now: bytes by their first.
struct Mappings {
  static inline std::mutex mutex;
  static inline std::map<const char *, int64_t> all;
};
} // namespace

/// To what the system lets this process have.
static bool raiseFileLimit() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 ||
      limit.rlim_cur == limit.rlim_max)
    return false;
  limit.rlim_cur = limit.rlim_max;
  return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

MappedFile dist::mapFile(const std::string &path, int64_t limit) {
  if (path.find('\0') != std::string::npos)
    throw Error(std::string(path.c_str()) +
                "\\0…: a name with a zero byte, which no file can have");
  MappedFile file;
  file.path = path;
  file.source = std::make_shared<MappedFile::Source>();
  // Without waiting, as for who writes to a pipe.
  auto openIt = [&] {
    return open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  };
  int fd = openIt();
  // A model may have thousands of files, and shells allow 1,024 unless asked.
  if (fd < 0 && errno == EMFILE && raiseFileLimit())
    fd = openIt();
  file.source->fd = fd;
  if (fd < 0)
    throw Error(path + ": cannot open: " + std::strerror(errno));
  struct stat &info = file.source->info;
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
    throw Error(path + ": not a regular file");
  file.bytes = info.st_size;
  if (file.bytes > limit)
    throw Error(path + ": has " + std::to_string(file.bytes) +
                " bytes, more than the " + std::to_string(limit) +
                " that such a file may have");
  noteInput(path);
  if (file.bytes == 0)
    return file;
  void *memory = mmap(nullptr, file.bytes, PROT_READ, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED)
    throw Error(path + ": cannot map " + std::to_string(file.bytes) +
                " bytes: " + std::strerror(errno));
  std::lock_guard<std::mutex> lock(Mappings::mutex);
  Mappings::all[static_cast<char *>(memory)] = file.bytes;
  file.memory = {memory, [bytes = file.bytes](void *p) {
                   std::lock_guard<std::mutex> lock(Mappings::mutex);
                   Mappings::all.erase(static_cast<char *>(p));
                   munmap(p, bytes);
                 }};
  return file;
}

void MappedFile::checkUnchanged() const {
  struct stat now;
  const struct stat &then = source->info;
  if (fstat(source->fd, &now) != 0)
    throw Error(path + ": cannot be looked at: " + std::strerror(errno));
  if (now.st_size != then.st_size)
    throw Error(path + ": had " + std::to_string(then.st_size) +
                " bytes when it was opened and now has " +
                std::to_string(now.st_size) +
                ": it was written to while it was in use; run again");
  auto differ = [](const timespec &a, const timespec &b) {
    return a.tv_sec != b.tv_sec || a.tv_nsec != b.tv_nsec;
  };
  if (differ(now.st_mtim, then.st_mtim))
    throw Error(path + ": was written to while it was in use; run again");
  // Who writes can give the file its old time of writing again, but not that of
  // its last change. This one moves also when the file gets or loses a name, as
  // when another takes its place; then it was not written to.
  if (now.st_nlink == then.st_nlink && differ(now.st_ctim, then.st_ctim))
    throw Error(path + ": was written to, renamed or given other rights while "
                       "it was in use; run again");
}

PagesReadOnce::PagesReadOnce(const Tensor &tensor)
    : isWorthIt(tensor.file && tensor.bytes() >= (1 << 20)) {}

void PagesReadOnce::note(const void *data, int64_t bytes) {
  if (!isWorthIt)
    return;
  auto *begin = static_cast<const char *>(data);
  if (!low || begin < low || begin > high + kStep) {
    giveBack();
    low = high = begin;
  }
  high = std::max(high, begin + bytes);
  if (high - low >= kStep)
    giveBack();
}

void PagesReadOnce::giveBack() {
  if (const char *from = std::exchange(low, nullptr))
    giveBackPages(from, high);
}

void dist::giveBackPages(const char *begin, const char *end) {
  // Fewer take longer to give back than they are worth.
  constexpr int64_t kLeast = 1 << 16;
  // The kernel maps at most so much with a page.
  constexpr uintptr_t kAround = 2 << 20;
  if (end - begin < kLeast)
    return;
  std::lock_guard<std::mutex> lock(Mappings::mutex);
  auto file = Mappings::all.upper_bound(begin);
  if (file == Mappings::all.begin())
    return;
  const auto &[first, bytes] = *std::prev(file);
  if (end > first + bytes)
    return;
  auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE)),
       from = reinterpret_cast<uintptr_t>(begin) / kAround * kAround,
       to = reinterpret_cast<uintptr_t>(end + kAround - 1) / kAround * kAround,
       least = reinterpret_cast<uintptr_t>(first),
       most = (least + bytes + page - 1) / page * page;
  from = std::max(from, least);
  madvise(reinterpret_cast<void *>(from), std::min(to, most) - from,
          MADV_DONTNEED);
}

int64_t dist::elementsIn(const std::string &path, const Shape &shape) {
  try {
    return numElements(shape);
  } catch (const Error &error) {
    throw Error(path + ": " + error.what());
  }
}
