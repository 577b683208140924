//===- ProcessesRun.cpp - Ranks as processes of one host ------------------===//

#include "runtime/processes/ProcessesRun.h"
#include "dist/Signals.h"
#include "dist/Tensor.h"
#include "runtime/control/Protocol.h"
#include "runtime/control/TraceMessages.h"
#include "runtime/local/LocalRank.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace dist;
using Clock = std::chrono::steady_clock;

/// Of a process's own messages; those of its rank have smaller ones. The last
/// one is kEnd.
static constexpr uint32_t kTrace = ~0u, kEnd = kTrace - 1;
/// What each rank tells all others.
static constexpr int64_t kMostExchanged = 1024;
/// How long ranks have to end, once the run has failed.
static constexpr std::chrono::milliseconds kGrace(1500), kTick(100);

/// A rank's process, as the first one sees it.
struct ProcessesRun::Process {
  int64_t rank;
  pid_t id = -1;
  int handle = -1; // pidfd
  MessageSocket socket;
  int output = -1;
  std::string line;
  bool hasEnded = false;
  std::optional<Clock::time_point> stopped;

  ~Process() {
    for (int descriptor : {handle, output})
      if (descriptor >= 0)
        close(descriptor);
  }
};

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// What ranks meet by takes: a line of text a stream, a call a member of each
/// group and stream, and a queue for each that they send messages to.
static int64_t getMeetingBytes(const Topology &topology) {
  int64_t perStream = topology.mesh.size() * numStreams,
          calls = perStream * (topology.comms.size() + 1), queues = 0;
  for (int64_t rank = 0; rank < topology.mesh.size(); ++rank)
    queues += topology.findPeers(rank).size();
  return (1 << 20) + 1024 * (perStream + calls + queues) +
         kMostExchanged * topology.mesh.size();
}

ProcessesRun::ProcessesRun(Topology topology, HostOptions options,
                           int64_t rankBytes, int64_t sharedBytes,
                           std::chrono::milliseconds timeout,
                           std::chrono::milliseconds elsewhere)
    : ProcessesRun(std::move(topology), options, rankBytes, timeout, elsewhere,
                   std::make_unique<SharedHeap>(getMeetingBytes(topology) +
                                                sharedBytes)) {}

ProcessesRun::ProcessesRun(Topology &&topology, HostOptions options,
                           int64_t rankBytes, std::chrono::milliseconds timeout,
                           std::chrono::milliseconds elsewhere,
                           std::unique_ptr<SharedHeap> memory)
    : LocalRun(std::move(topology), options, Sharing::Processes, memory.get()),
      timeout(timeout), elsewhere(elsewhere), block(std::move(memory)) {
  // A process could not tell the others of a channel that it makes.
  channel(-1, 0, 0);
  for (size_t comm = 0; comm < places.comms.size(); ++comm)
    for (size_t group = 0; group < places.comms[comm].members.size(); ++group)
      for (int32_t stream = 0; stream < numStreams; ++stream)
        channel(comm, group, stream);
  for (int64_t rank = 0; rank < places.mesh.size(); ++rank)
    for (int64_t peer : places.findPeers(rank))
      queue(rank, peer);
  exchanged = static_cast<char *>(
      block->allocate(places.mesh.size() * kMostExchanged, 1));
  for (int64_t rank = 0; rank < places.mesh.size(); ++rank)
    heaps.push_back(std::make_unique<SharedHeap>(rankBytes));
}

ProcessesRun::~ProcessesRun() { endMeetings(); }

//===----------------------------------------------------------------------===//
// In a rank's process
//===----------------------------------------------------------------------===//

void ProcessesRun::giveBack(void *pages, int64_t bytes) {
  // Memory that others have, too, goes only if it goes for all.
  madvise(pages, bytes, MADV_REMOVE);
}

void ProcessesRun::tell(Message message) {
  if (!parent.send(message))
    throw Error("the process that started the run is gone");
}

Message ProcessesRun::ask(Message message) {
  tell(std::move(message));
  std::optional<Message> answer = parent.receive();
  if (!answer)
    throw Error("the process that started the run is gone");
  return *std::move(answer);
}

bool ProcessesRun::exchange(dist_rank &rank, std::string &text) {
  int64_t bytes = text.size(), ranks = places.mesh.size();
  if (bytes > kMostExchanged)
    throw Error("a rank tells others too much");
  std::memcpy(exchanged + rank.index * bytes, text.data(), bytes);
  if (!rank.backend.meet())
    return false;
  text.assign(exchanged, ranks * bytes);
  return rank.backend.meet();
}

/// In a rank's process.
static Waiting *ownWaiting = nullptr;

namespace {
/// Signals wait while this exists.
class SignalsLater {
public:
  SignalsLater() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
  }
  ~SignalsLater() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }

private:
  sigset_t before;
};
} // namespace

void ProcessesRun::live(int64_t index,
                        const std::function<int32_t(dist_rank &)> &body) {
  heap = heaps[index].get();
  {
    LocalRank rank(*this, index);
    runRank(rank, body);
    std::vector<TraceEvent> events = rank.takeTrace();
    constexpr size_t kMost = 1 << 16; // of one message
    for (size_t i = 0; i < events.size(); i += kMost)
      parent.send({kTrace, writeTrace(std::span(events).subspan(
                               i, std::min(kMost, events.size() - i)))});
  }
  parent.send({kEnd, ""});
  // What the first process has to clean up is not this one's.
  _exit(0);
}

//===----------------------------------------------------------------------===//
// In the first process
//===----------------------------------------------------------------------===//

static Error systemError(const std::string &what) {
  return Error(what + ": " + std::strerror(errno));
}

void ProcessesRun::start(int64_t rank,
                         const std::function<int32_t(dist_rank &)> &body) {
  int sockets[2], pipes[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
    throw systemError("no socket for rank " + std::to_string(rank));
  MessageSocket theirs(sockets[1]);
  auto process = std::make_unique<Process>();
  process->rank = rank;
  process->socket = MessageSocket(sockets[0]);
  if (pipe2(pipes, O_CLOEXEC) != 0)
    throw systemError("no pipe for rank " + std::to_string(rank));
  process->output = pipes[0];
  pid_t first = getpid();
  std::fflush(nullptr);
  // Until a rank has its own handlers of signals.
  std::optional<SignalsLater> later(std::in_place);
  process->id = fork();
  if (process->id == 0) {
    // It ends with the process that started it.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != first)
      _exit(1);
    for (int descriptor : {STDOUT_FILENO, STDERR_FILENO})
      dup2(pipes[1], descriptor);
    close(pipes[1]);
    processes.clear();
    process.reset();
    parent = std::move(theirs);
    ownWaiting = waiting;
    becomeRankProcess(
        [](const char *message) { ownWaiting->failAtEnd(message); });
    later.reset();
    live(rank, body);
  }
  later.reset();
  close(pipes[1]);
  if (process->id < 0)
    throw systemError("no process for rank " + std::to_string(rank) + " of " +
                      std::to_string(places.mesh.size()));
  process->handle = syscall(SYS_pidfd_open, process->id, 0);
  processes.push_back(std::move(process));
}

void ProcessesRun::print(Process &process, bool isLast) {
  char buffer[4096];
  // Not to be kept by who writes without an end.
  for (int i = 0; i < 64 || isLast; ++i) {
    pollfd ready{process.output, POLLIN, 0};
    if (process.output < 0 || poll(&ready, 1, 0) <= 0)
      break;
    ssize_t count = read(process.output, buffer, sizeof buffer);
    if (count <= 0) {
      close(process.output);
      process.output = -1;
      break;
    }
    process.line.append(buffer, count);
  }
  std::string name = places.describe(process.rank);
  size_t end;
  while ((end = process.line.find('\n')) != std::string::npos) {
    lines.print(process.rank, name, process.line.substr(0, end));
    process.line.erase(0, end + 1);
  }
  constexpr size_t kMostLine = 1 << 16;
  if ((isLast && !process.line.empty()) || process.line.size() > kMostLine) {
    lines.print(process.rank, name, process.line);
    process.line.clear();
  }
}

void ProcessesRun::hear(Process &process) {
  bool isOpen = process.socket.fill();
  while (std::optional<Message> message = process.socket.next()) {
    try {
      if (message->kind == kTrace) {
        std::vector<TraceEvent> own = readTrace(message->text);
        trace.insert(trace.end(), own.begin(), own.end());
        continue;
      }
      if (message->kind == kEnd) {
        process.hasEnded = true;
        continue;
      }
      std::optional<Message> reply = answer(process.rank, *std::move(message));
      if (reply)
        process.socket.send(*reply);
    } catch (const std::exception &error) {
      waiting->failForOthers(places.describe(process.rank) + ": " +
                             error.what());
      // Who waits for an answer is told that there is none.
      process.socket.close();
      return;
    }
  }
  if (!isOpen)
    process.socket.close();
}

static std::string describeEnd(int status) {
  if (WIFEXITED(status))
    return "ended with status " + std::to_string(WEXITSTATUS(status));
  int signal = WTERMSIG(status);
  return "was ended by signal " + std::to_string(signal) + " (" +
         strsignal(signal) + ")" +
         (signal == SIGKILL ? ", as the kernel does where memory runs out"
                            : "");
}

void ProcessesRun::noticeEnd(Process &process) {
  int status = 0;
  if (waitpid(process.id, &status, WNOHANG) != process.id)
    return;
  while (process.socket.isOpen())
    hear(process);
  print(process, /*isLast=*/true);
  if (status != 0 || !process.hasEnded)
    waiting->failForOthers(places.describe(process.rank) + ": its process " +
                           std::to_string(process.id) + " on " + machineName() +
                           " " + describeEnd(status) +
                           (status ? "" : " in the middle of the run") +
                           waiting->describe(process.rank * numStreams));
  process.id = -1;
}

void ProcessesRun::noticeStop(Process &process) {
  siginfo_t info = {};
  while (waitid(P_PID, process.id, &info, WSTOPPED | WCONTINUED | WNOHANG) ==
             0 &&
         info.si_pid == process.id) {
    process.stopped.reset();
    if (info.si_code == CLD_STOPPED)
      process.stopped = Clock::now();
    info = {};
  }
  if (process.stopped && Clock::now() - *process.stopped >= timeout) {
    // At once: others may wait for a lock that it holds.
    kill(process.id, SIGKILL);
    waiting->failForOthers(places.describe(process.rank) + ": its process " +
                           std::to_string(process.id) + " on " + machineName() +
                           " has been stopped for " +
                           control::formatSeconds(timeout) +
                           waiting->describe(process.rank * numStreams));
  }
}

/// Until all have ended.
void ProcessesRun::watch() {
  std::optional<Clock::time_point> failedAt;
  std::vector<pollfd> ready;
  for (;;) {
    ready.clear();
    bool isAnyAlive = false, isAnyStopped = false;
    for (auto &process : processes) {
      if (process->id < 0)
        continue;
      isAnyAlive = true;
      for (int descriptor :
           {process->handle, process->socket.handle(), process->output})
        ready.push_back({descriptor, POLLIN, 0});
    }
    if (!isAnyAlive)
      return;
    poll(ready.data(), ready.size(), kTick.count());
    for (auto &process : processes) {
      if (process->id < 0)
        continue;
      if (process->socket.isOpen())
        hear(*process);
      print(*process, /*isLast=*/false);
      noticeStop(*process);
      isAnyStopped |= process->stopped.has_value();
      noticeEnd(*process);
    }
    // Others wait for who is stopped.
    if (!isAnyStopped)
      waiting->limitElsewhere(elsewhere);
    if (!waiting->failed())
      continue;
    if (!failedAt)
      failedAt = Clock::now();
    for (auto &process : processes)
      if (process->id > 0 && Clock::now() - *failedAt > kGrace)
        kill(process->id, SIGKILL);
  }
}

bool ProcessesRun::run(const std::function<int32_t(dist_rank &)> &body) {
  control::prepareToFork();
  waiting->setCores(cpus.size());
  int64_t ranks = places.mesh.size();
  for (int64_t rank = 0; rank < ranks; ++rank)
    waiting->enter();
  try {
    for (int64_t rank = 0; rank < ranks; ++rank)
      start(rank, body);
  } catch (const std::exception &error) {
    waiting->failForOthers(error.what());
  }
  watch();
  return !waiting->failed();
}
