//===- ForkedMemory.cpp - Memory of tests that forks share ----------------===//
//
// One mapping, made before any fork. Each process takes chunks of it, from
// which it cuts blocks of powers of two: so no lock is between processes, and
// one that is killed leaves none.
//
//===----------------------------------------------------------------------===//

#include "ForkedMemory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <new>
#include <pthread.h>
#include <sys/mman.h>
#include <thread>
#include <ucontext.h>
#include <utility>

namespace {

constexpr size_t kArena = size_t(1) << 36, kChunk = size_t(1) << 20,
                 kStack = size_t(1) << 20, kSmallest = 64;

/// In front of each block; blocks are aligned to it.
struct alignas(kSmallest) Header {
  size_t order;
  Header *next;
};

/// Whether `new` of this thread takes shared memory.
thread_local bool isForked = false;

char *arena() {
  static char *memory = [] {
    void *mapped = mmap(nullptr, kArena, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED)
      std::abort();
    // All processes count on in the first bytes.
    new (mapped) std::atomic<size_t>(kSmallest);
    return static_cast<char *>(mapped);
  }();
  return memory;
}

bool isInArena(void *pointer) {
  auto address = static_cast<char *>(pointer);
  return address >= arena() && address < arena() + kArena;
}

/// This process's part.
struct Pool {
  std::mutex mutex;
  Header *free[64] = {};
  char *begin = nullptr, *end = nullptr;
};
alignas(Pool) char poolMemory[sizeof(Pool)];

Pool &pool() {
  static Pool *own = [] {
    auto renew = [] { new (poolMemory) Pool; };
    renew();
    // What the process that forks has left is its own.
    pthread_atfork(nullptr, nullptr, renew);
    return reinterpret_cast<Pool *>(poolMemory);
  }();
  return *own;
}

void *take(size_t bytes) {
  size_t order = std::bit_width(bytes + sizeof(Header) - 1);
  Pool &own = pool();
  std::lock_guard<std::mutex> lock(own.mutex);
  Header *&first = own.free[order];
  Header *block = first;
  if (block) {
    first = block->next;
    return block + 1;
  }
  size_t size = size_t(1) << order;
  if (size > static_cast<size_t>(own.end - own.begin)) {
    size_t chunk = std::max(size, kChunk);
    size_t at =
        reinterpret_cast<std::atomic<size_t> *>(arena())->fetch_add(chunk);
    if (at + chunk > kArena)
      return nullptr;
    own.begin = arena() + at;
    own.end = own.begin + chunk;
  }
  block = new (own.begin) Header{order, nullptr};
  own.begin += size;
  return block + 1;
}

void give(void *pointer) {
  Header *block = static_cast<Header *>(pointer) - 1;
  Pool &own = pool();
  std::lock_guard<std::mutex> lock(own.mutex);
  block->next = own.free[block->order];
  own.free[block->order] = block;
}

/// What runs on a stack of its own.
struct Call {
  const std::function<void()> &body;
  std::exception_ptr error;
  ucontext_t here, there;
};
thread_local Call *current;

void runCurrent() {
  Call &call = *current;
  bool before = std::exchange(isForked, true);
  try {
    call.body();
  } catch (...) {
    call.error = std::current_exception();
  }
  isForked = before;
}

} // namespace

void dist::test::withForkedMemory(const std::function<void()> &body) {
  if (!forkedMemoryHasNew)
    return body();
  size_t size = kStack - sizeof(Header);
  void *stack = take(size);
  Call call{body, nullptr, {}, {}};
  getcontext(&call.there);
  call.there.uc_stack.ss_sp = stack;
  call.there.uc_stack.ss_size = size;
  call.there.uc_link = &call.here;
  makecontext(&call.there, runCurrent, 0);
  current = &call;
  swapcontext(&call.here, &call.there);
  give(stack);
  if (call.error)
    std::rethrow_exception(call.error);
}

void dist::test::withOwnMemory(const std::function<void()> &body) {
  std::thread([&] { body(); }).join();
}

#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
void *operator new(size_t bytes) {
  void *memory = isForked ? take(bytes) : std::malloc(bytes ? bytes : 1);
  return memory ? memory : throw std::bad_alloc();
}

void operator delete(void *pointer) noexcept {
  if (isInArena(pointer))
    give(pointer);
  else
    std::free(pointer);
}

void operator delete(void *pointer, size_t) noexcept {
  operator delete(pointer);
}
#endif

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  int status = 1;
  dist::test::withForkedMemory([&] { status = RUN_ALL_TESTS(); });
  return status;
}
