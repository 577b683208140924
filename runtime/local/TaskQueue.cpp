//===- TaskQueue.cpp - Messages between tasks of a pipeline ---------------===//

#include "runtime/local/TaskQueue.h"

#include <cstring>

using namespace dist;
using Buffer = TaskQueue::Buffer;
using Node = TaskQueue::Node;

static constexpr size_t kAlignment = 64; // as operands are (Tensor.h)

TaskSender::~TaskSender() {
  std::pmr::polymorphic_allocator<> make(memory);
  for (Node *node : nodes)
    make.delete_object(node);
  for (auto &[bytes, list] : buffers)
    for (Buffer *buffer : list) {
      memory->deallocate(buffer->data, bytes, kAlignment);
      make.delete_object(buffer);
    }
}

Buffer &TaskSender::takeBuffer(int64_t bytes) {
  std::vector<Buffer *> &list = buffers[bytes];
  for (Buffer *buffer : list)
    if (buffer->isFree.load(std::memory_order_acquire)) {
      buffer->isFree.store(false, std::memory_order_relaxed);
      return *buffer;
    }
  auto *buffer = std::pmr::polymorphic_allocator<>(memory).new_object<Buffer>();
  list.push_back(buffer);
  buffer->bytes = bytes;
  buffer->data = memory->allocate(bytes, kAlignment);
  return *buffer;
}

Node &TaskSender::takeNode() {
  Node *node;
  if (!nodes.empty() &&
      nodes.front()->isPassed.load(std::memory_order_acquire)) {
    node = nodes.front();
    nodes.pop_front();
    node->next.store(nullptr, std::memory_order_relaxed);
    node->isPassed.store(false, std::memory_order_relaxed);
  } else {
    node = std::pmr::polymorphic_allocator<>(memory).new_object<Node>();
  }
  nodes.push_back(node);
  return *node;
}

void TaskSender::send(const void *data, int64_t bytes, int64_t tag,
                      int64_t there) {
  Buffer &buffer = takeBuffer(bytes);
  std::memcpy(buffer.data, data, bytes);
  Node &node = takeNode();
  node.buffer = &buffer;
  node.tag = tag;
  node.there = there;
  last->next.store(&node, std::memory_order_release);
  last = &node;
  queue.posted.advance();
}

const Node *TaskReceiver::take() {
  Node *next = at->next.load(std::memory_order_acquire);
  if (!next)
    return nullptr;
  at->isPassed.store(true, std::memory_order_release);
  at = next;
  return next;
}
