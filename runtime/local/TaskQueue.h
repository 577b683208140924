//===- TaskQueue.h - Messages between tasks of a pipeline -------*- C++ -*-===//
//
// From one rank to another of the same host: threads of one process, or
// processes that share memory. One rank sends, one receives, and neither waits
// for a lock. What is sent is copied once, to memory of the sender, where the
// receiver reads it.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_LOCAL_TASKQUEUE_H
#define DIST_RUNTIME_LOCAL_TASKQUEUE_H

#include "runtime/local/Waiting.h"

#include <deque>
#include <map>

namespace dist {

struct TaskQueue {
  explicit TaskQueue(Sharing sharing) : posted(sharing) {}

  /// Of the sender. The receiver says when it is free again.
  struct Buffer {
    void *data = nullptr;
    int64_t bytes = 0;
    std::atomic<bool> isFree{false};
  };
  struct Node {
    std::atomic<Node *> next{nullptr};
    /// The receiver is at a later one.
    std::atomic<bool> isPassed{false};
    Buffer *buffer = nullptr;
    int64_t tag = 0;
    /// When an emulated link has it there, in nanoseconds of the steady clock.
    int64_t there = 0;
  };

  /// Advanced by each message.
  Word posted;
  /// Before the first message.
  Node first;
};

/// The end of the rank that sends.
class TaskSender {
public:
  /// Messages lie in `memory`, which both ranks see.
  TaskSender(TaskQueue &queue, std::pmr::memory_resource *memory)
      : queue(queue), memory(memory), last(&queue.first) {}
  /// Nobody reads them any more.
  ~TaskSender();
  TaskSender(const TaskSender &) = delete;

  void send(const void *data, int64_t bytes, int64_t tag, int64_t there);

private:
  TaskQueue::Buffer &takeBuffer(int64_t bytes);
  TaskQueue::Node &takeNode();

  TaskQueue &queue;
  std::pmr::memory_resource *memory;
  TaskQueue::Node *last;
  /// In the order in which they were sent.
  std::deque<TaskQueue::Node *> nodes;
  std::map<int64_t, std::vector<TaskQueue::Buffer *>> buffers; // by bytes
};

/// The end of the rank that receives.
class TaskReceiver {
public:
  explicit TaskReceiver(TaskQueue &queue) : queue(queue), at(&queue.first) {}

  /// The next message; null if there is none yet.
  const TaskQueue::Node *take();
  Word &posted() { return queue.posted; }

private:
  TaskQueue &queue;
  TaskQueue::Node *at;
};

} // namespace dist

#endif // DIST_RUNTIME_LOCAL_TASKQUEUE_H
