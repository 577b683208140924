//===- StackThread.h - A thread with a stack of known size ------*- C++ -*-===//

#ifndef DIST_RUNTIME_LOCAL_STACKTHREAD_H
#define DIST_RUNTIME_LOCAL_STACKTHREAD_H

#include "dist/runtime.h"

#include <functional>
#include <memory>
#include <pthread.h>
#include <system_error>

namespace dist {

/// As std::thread, whose stack is what `ulimit -s` says. This one has
/// DIST_STACK_BYTES, which compiled programs count on.
class StackThread {
public:
  StackThread() = default;
  /// Throws std::system_error if no thread can be made.
  explicit StackThread(std::function<void()> body)
      : handle(std::make_unique<pthread_t>()) {
    auto owned = std::make_unique<std::function<void()>>(std::move(body));
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, DIST_STACK_BYTES);
    int error = pthread_create(handle.get(), &attributes, run, owned.get());
    pthread_attr_destroy(&attributes);
    if (error)
      throw std::system_error(error, std::generic_category());
    owned.release();
  }

  bool joinable() const { return handle != nullptr; }
  void join() {
    pthread_join(*handle, nullptr);
    handle.reset();
  }

private:
  static void *run(void *argument) {
    std::unique_ptr<std::function<void()>> body(
        static_cast<std::function<void()> *>(argument));
    (*body)();
    return nullptr;
  }

  std::unique_ptr<pthread_t> handle;
};

} // namespace dist

#endif // DIST_RUNTIME_LOCAL_STACKTHREAD_H
