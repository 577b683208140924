//===- ProcessesRun.h - Ranks as processes of one host ----------*- C++ -*-===//
//
// The process that starts a run makes a process of each rank, by fork.
// Operands, and what ranks meet by, are in memory that all of them have.
// Collectives are those of threads, so that results have the same bits.
//
// The first process is no rank. It notices when a rank's process dies, or is
// stopped for too long, and ends the others. It prints what ranks write, line
// by line, with the rank in front.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_PROCESSES_PROCESSESRUN_H
#define DIST_RUNTIME_PROCESSES_PROCESSESRUN_H

#include "runtime/control/Messages.h"
#include "runtime/control/RankLines.h"
#include "runtime/local/LocalRun.h"
#include "runtime/processes/SharedMemory.h"

#include <chrono>

namespace dist {

class ProcessesRun final : public LocalRun {
public:
  /// A rank's operands take at most `rankBytes`, and what the first process
  /// shares (`shared`) takes `sharedBytes`. A rank that is stopped for
  /// `timeout` fails the run, as does one that waits `elsewhere` for so long
  /// (Backend::waitsElsewhere). Throws Error if there is no memory.
  ProcessesRun(Topology topology, HostOptions options, int64_t rankBytes,
               int64_t sharedBytes, std::chrono::milliseconds timeout,
               std::chrono::milliseconds elsewhere);
  ~ProcessesRun() override;

  /// Memory that all processes have, for what the first one makes before the
  /// run.
  std::pmr::memory_resource &shared() { return *block; }
  /// Keeps the operands of a rank alive.
  std::shared_ptr<void> keep(int64_t rank) const {
    return heaps[rank]->getRange();
  }

  /// In the first process: answers a message of a rank. An exception fails the
  /// run.
  std::function<std::optional<Message>(int64_t rank, Message message)> answer;

  bool run(const std::function<int32_t(dist_rank &)> &body) override;

  /// In a rank's process: tells the first one something.
  void tell(Message message);
  /// The same, and waits for its answer. Throws Error if the run has ended.
  Message ask(Message message);
  /// The same of all ranks: gives all what each has, texts of one length (up to
  /// 1,024 bytes). Afterwards `text` is all of them, by rank. False if the run
  /// has failed.
  bool exchange(dist_rank &rank, std::string &text);

private:
  struct Process;

  std::pmr::memory_resource *peerMemory() override { return heap; }
  std::shared_ptr<void> allocate(int64_t bytes) override {
    return heap->allocateZeroed(bytes);
  }
  void giveBack(void *pages, int64_t bytes) override;
  void start(int64_t rank, const std::function<int32_t(dist_rank &)> &body);
  [[noreturn]] void live(int64_t rank,
                         const std::function<int32_t(dist_rank &)> &body);
  void watch();
  void hear(Process &process);
  void print(Process &process, bool isLast);
  void noticeEnd(Process &process);
  void noticeStop(Process &process);

  ProcessesRun(Topology &&topology, HostOptions options, int64_t rankBytes,
               std::chrono::milliseconds timeout,
               std::chrono::milliseconds elsewhere,
               std::unique_ptr<SharedHeap> block);

  const std::chrono::milliseconds timeout, elsewhere;
  std::unique_ptr<SharedHeap> block;
  char *exchanged;
  /// By rank.
  std::vector<std::unique_ptr<SharedHeap>> heaps;
  std::vector<std::unique_ptr<Process>> processes;
  RankLines lines;
  /// In a rank's process: its memory, and the way to the first one.
  SharedHeap *heap = nullptr;
  MessageSocket parent;
};

} // namespace dist

#endif // DIST_RUNTIME_PROCESSES_PROCESSESRUN_H
