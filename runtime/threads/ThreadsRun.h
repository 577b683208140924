//===- ThreadsRun.h - Ranks as threads of one process -----------*- C++ -*-===//
//
// The embedded default: a rank is a thread, a communication stream another,
// collectives read the peers' memory directly.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_THREADS_THREADSRUN_H
#define DIST_RUNTIME_THREADS_THREADSRUN_H

#include "runtime/local/LocalRun.h"

namespace dist {

/// One run of a program: its ranks, and where they meet.
class ThreadsRun final : public LocalRun {
public:
  ThreadsRun(Topology topology, EmulatedLink link = {}, StreamMode streams = {},
             bool directConvolutions = false)
      : LocalRun(std::move(topology), {link, streams, directConvolutions},
                 Sharing::Threads, std::pmr::get_default_resource()) {}
  ~ThreadsRun() override { endMeetings(); }

  bool run(const std::function<int32_t(dist_rank &)> &body) override;
};

} // namespace dist

#endif // DIST_RUNTIME_THREADS_THREADSRUN_H
