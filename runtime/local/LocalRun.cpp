//===- LocalRun.cpp - Ranks that read each other's memory -----------------===//

#include "runtime/local/LocalRun.h"
#include "runtime/local/LocalRank.h"

using namespace dist;

Channel::Channel(int64_t members, Sharing sharing,
                 std::pmr::memory_resource *memory)
    : turn(sharing), slots(members, memory) {}

Channel &LocalRun::channel(int32_t comm, int64_t group, int32_t stream) {
  std::lock_guard<std::mutex> lock(mutex);
  Channel *&channel = channels[{comm, group, stream}];
  if (!channel)
    channel = std::pmr::polymorphic_allocator<>(memory).new_object<Channel>(
        comm < 0 ? places.mesh.size() : places.comms[comm].size, sharing,
        memory);
  return *channel;
}

TaskQueue &LocalRun::queue(int64_t from, int64_t to) {
  std::lock_guard<std::mutex> lock(mutex);
  TaskQueue *&queue = queues[{from, to}];
  if (!queue)
    queue = std::pmr::polymorphic_allocator<>(memory).new_object<TaskQueue>(
        sharing);
  return *queue;
}

void LocalRun::endMeetings() {
  std::pmr::polymorphic_allocator<> make(memory);
  for (auto &[key, channel] : channels)
    make.delete_object(channel);
  for (auto &[ranks, queue] : queues)
    make.delete_object(queue);
  endWaiting();
}
