//===- ForkedMemory.h - Memory of tests that forks share --------*- C++ -*-===//
//
// Ranks that are processes read each other's operands where they are. So that a
// test is the same for them as for threads, its stack and all that it makes by
// `new` lie in memory that forked processes share, at the same addresses.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_TEST_RUNTIME_FORKEDMEMORY_H
#define DIST_TEST_RUNTIME_FORKEDMEMORY_H

#include <functional>

namespace dist::test {

/// Whether what `new` makes is shared: not where a sanitizer watches the heap.
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool forkedMemoryHasNew = false;
#else
inline constexpr bool forkedMemoryHasNew = true;
#endif

/// Runs `body` with a stack and a heap that forked processes share.
void withForkedMemory(const std::function<void()> &body);

/// Runs `body` on a thread whose memory is a process's own.
void withOwnMemory(const std::function<void()> &body);

} // namespace dist::test

#endif // DIST_TEST_RUNTIME_FORKEDMEMORY_H
