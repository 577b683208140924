//===- RollCall.cpp - Who is there before MPI is --------------------------===//

#include "runtime/launch/RollCall.h"
#include "dist/Signals.h"
#include "runtime/mpi/Starter.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <sstream>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace dist;

/// A socket that has the name of a rank that a starter has started, or that is
/// connected to the one that has it; -1 if that cannot be.
static int openName(int64_t starter, int64_t rank,
                    int (*open)(int, const sockaddr *, socklen_t)) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  // Behind a zero: of no file.
  std::string name =
      "dist-" + std::to_string(starter) + "-" + std::to_string(rank);
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  socklen_t length = offsetof(sockaddr_un, sun_path) + 1 + name.size();
  int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (descriptor >= 0 &&
      open(descriptor, reinterpret_cast<sockaddr *>(&address), length) != 0)
    close(std::exchange(descriptor, -1));
  return descriptor;
}

static bool isThere(int64_t starter, int64_t rank) {
  int descriptor = openName(starter, rank, connect);
  if (descriptor >= 0)
    close(descriptor);
  return descriptor >= 0;
}

RollCall::RollCall(std::chrono::milliseconds timeout,
                   std::function<void(const std::string &)> tell) {
  std::optional<Starter> starter = findStarter();
  std::optional<StartedAs> as = findStartedAs();
  if (!starter || !as || as->size < 2)
    return;
  own = openName(starter->process, as->rank, bind);
  thread = std::thread([=, this] { run(timeout, tell); });
}

RollCall::~RollCall() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    isOver = true;
    changed.notify_all();
  }
  if (thread.joinable())
    thread.join();
  if (own >= 0)
    close(own);
}

static std::string list(const std::vector<int64_t> &ranks) {
  std::string text;
  for (size_t i = 0; i < std::min<size_t>(ranks.size(), 8); ++i)
    text += (i ? ", " : "") + std::to_string(ranks[i]);
  return text + (ranks.size() > 8 ? ", …" : "");
}

void RollCall::run(std::chrono::milliseconds timeout,
                   const std::function<void(const std::string &)> &tell) {
  leaveSignalsToOthers();
  Starter starter = *findStarter();
  StartedAs as = *findStartedAs();
  std::unique_lock<std::mutex> lock(mutex);
  for (;;) {
    if (changed.wait_for(lock, timeout, [this] { return isOver; }))
      return;
    std::vector<int64_t> here, missing;
    for (int64_t rank = 0; rank < as.size; ++rank)
      (rank == as.rank || isThere(starter.process, rank) ? here : missing)
          .push_back(rank);
    bool isOneHost = as.sizeOfHost == as.size;
    int64_t expected = as.sizeOfHost ? as.sizeOfHost : 1;
    // MPI may take its time, and who is on which host only MPI knows.
    if (here.front() != as.rank || int64_t(here.size()) >= expected)
      continue;
    std::ostringstream text;
    text << "after " << timeout.count() / 1000.0
         << " s (--timeout) MPI still waits for "
         << expected - int64_t(here.size()) << " of the " << expected
         << " processes that " << starter.command << " has started on "
         << machineName() << ": ";
    if (isOneHost)
      text << (missing.size() == 1 ? "rank " : "ranks ") << list(missing)
           << (missing.size() == 1 ? " is" : " are") << " not there";
    else
      text << (here.size() == 1 ? "rank " : "ranks ") << list(here)
           << (here.size() == 1 ? " is" : " are") << " there, no other";
    text << "; start the same program, with --backend mpi, in each";
    tell(text.str());
    endProcess(1);
  }
}
