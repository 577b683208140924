//===- SharedMemory.cpp - Memory that several processes have --------------===//

#include "runtime/processes/SharedMemory.h"
#include "dist/Tensor.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

using namespace dist;

static constexpr int64_t kLine = 64, kHugePage = 2 << 20;

SharedRange::SharedRange(int64_t bytes) : size(std::max<int64_t>(bytes, 1)) {
  auto check = [&](void *memory) {
    if (memory == MAP_FAILED)
      throw Error(
          "no " + std::to_string(size) +
          " bytes of memory that processes share: " + std::strerror(errno) +
          "; most of it is not used, but ulimit -v must leave room for it");
    return static_cast<char *>(memory);
  };
  // Huge pages are possible where addresses and places in the memory agree: it
  // begins at a multiple of their size. What is left over goes back.
  auto *room = check(mmap(nullptr, size + kHugePage, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  int64_t before = -reinterpret_cast<uintptr_t>(room) % kHugePage;
  start = check(mmap(room + before, size, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
                     0));
  if (before > 0)
    munmap(room, before);
  int64_t page = sysconf(_SC_PAGESIZE), end = (size + page - 1) / page * page;
  munmap(start + end, kHugePage - before);
  madvise(start, size, MADV_HUGEPAGE);
}

SharedRange::~SharedRange() { munmap(start, size); }

void dist::leaveShared(const void *data, int64_t bytes) {
  auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE)),
       from = reinterpret_cast<uintptr_t>(data);
  uintptr_t begin = from / page * page,
            end = (from + bytes + page - 1) / page * page;
  madvise(reinterpret_cast<void *>(begin), end - begin, MADV_DONTNEED);
}

char *SharedHeap::take(size_t bytes, size_t alignment, int64_t &used) {
  int64_t size = std::max<int64_t>((bytes + kLine - 1) / kLine * kLine, kLine);
  auto align = static_cast<int64_t>(std::max<size_t>(alignment, kLine));
  std::lock_guard<std::mutex> lock(mutex);
  for (auto [at, length] : free) {
    int64_t first = (at + align - 1) / align * align, end = first + size;
    if (end > at + length)
      continue;
    free.erase(at);
    if (first > at)
      free[at] = first - at;
    if (end < at + length)
      free[end] = at + length - end;
    used = std::max<int64_t>(0, fresh - first);
    fresh = std::max(fresh, end);
    return range->data() + first;
  }
  throw Error("out of the memory that processes share: " +
              std::to_string(bytes) + " bytes");
}

void SharedHeap::do_deallocate(void *data, size_t bytes, size_t) {
  int64_t size = std::max<int64_t>((bytes + kLine - 1) / kLine * kLine, kLine);
  std::lock_guard<std::mutex> lock(mutex);
  int64_t at = static_cast<char *>(data) - range->data();
  auto here = free.emplace(at, size).first;
  auto next = std::next(here);
  if (next != free.end() && here->first + here->second == next->first) {
    here->second += next->second;
    free.erase(next);
  }
  if (here == free.begin())
    return;
  auto before = std::prev(here);
  if (before->first + before->second == here->first) {
    before->second += here->second;
    free.erase(here);
  }
}

std::shared_ptr<void> SharedHeap::allocateZeroed(int64_t bytes) {
  int64_t used;
  void *data = take(bytes, bytes >= kHugePage ? kHugePage : kLine, used);
  std::memset(data, 0, std::min(used, bytes));
  return {data, [this, bytes](void *data) {
            deallocate(data, bytes, bytes >= kHugePage ? kHugePage : kLine);
          }};
}
