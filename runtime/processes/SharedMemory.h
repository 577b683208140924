//===- SharedMemory.h - Memory that several processes have ------*- C++ -*-===//
//
// Anonymous memory of the kernel, mapped before the processes are made: all
// have it at the same addresses, so that pointers mean the same to each. It has
// no name. It is gone with the last process, however that ends.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_PROCESSES_SHAREDMEMORY_H
#define DIST_RUNTIME_PROCESSES_SHAREDMEMORY_H

#include <cstdint>
#include <map>
#include <memory>
#include <memory_resource>
#include <mutex>

namespace dist {

/// A range of such memory. Pages are zero, and take memory once they are
/// written to.
class SharedRange {
public:
  /// Throws Error if there is no such range of addresses.
  explicit SharedRange(int64_t bytes);
  ~SharedRange();
  SharedRange(const SharedRange &) = delete;

  char *data() const { return start; }
  int64_t bytes() const { return size; }

private:
  char *start;
  int64_t size;
};

/// Gives back this process's view of pages of such memory, which count as its
/// own once it has seen them. What they hold stays.
void leaveShared(const void *data, int64_t bytes);

/// Parts of a range, for the process that allocates them; others read and write
/// them. What is freed is used again.
class SharedHeap final : public std::pmr::memory_resource {
public:
  explicit SharedHeap(int64_t bytes)
      : range(std::make_shared<SharedRange>(bytes)), free{{0, range->bytes()}} {
  }

  /// Zeroed, aligned as operands are (Tensor.h). Throws Error if it is full.
  std::shared_ptr<void> allocateZeroed(int64_t bytes);
  /// Keeps the memory alive.
  const std::shared_ptr<SharedRange> &getRange() const { return range; }

private:
  /// The first `used` bytes, or more than there are, are not zero.
  char *take(size_t bytes, size_t alignment, int64_t &used);
  void *do_allocate(size_t bytes, size_t alignment) override {
    int64_t used;
    return take(bytes, alignment, used);
  }
  void do_deallocate(void *data, size_t bytes, size_t alignment) override;
  bool do_is_equal(const memory_resource &other) const noexcept override {
    return this == &other;
  }

  std::shared_ptr<SharedRange> range;
  std::mutex mutex;
  /// What is free: from where, and how many bytes; neighbours are one.
  std::map<int64_t, int64_t> free;
  /// From here on nothing was ever used.
  int64_t fresh = 0;
};

} // namespace dist

#endif // DIST_RUNTIME_PROCESSES_SHAREDMEMORY_H
