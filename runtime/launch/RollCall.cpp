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
  // Not closed: who is in MPI for longer still sees this one.
  openName(starter->process, as->rank, bind);
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
}

static std::string list(const std::vector<int64_t> &ranks) {
  std::string text;
  for (size_t i = 0; i < std::min<size_t>(ranks.size(), 8); ++i)
    text += (i ? ", " : "") + std::to_string(ranks[i]);
  return text + (ranks.size() > 8 ? ", …" : "");
}

/// Who is missing on this host; "" if nobody is.
static std::string describeMissing(const Starter &starter, const StartedAs &as,
                                   std::chrono::milliseconds timeout) {
  std::vector<int64_t> here, missing;
  for (int64_t rank = 0; rank < as.size; ++rank)
    (rank == as.rank || isThere(starter.process, rank) ? here : missing)
        .push_back(rank);
  // Who is on which host only MPI knows.
  bool isOneHost = as.sizeOfHost == as.size;
  int64_t expected = as.sizeOfHost ? as.sizeOfHost : 1;
  if (int64_t(here.size()) >= expected)
    return "";
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
  text << "; start the same program, with the same --backend, in each";
  return text.str();
}

void RollCall::run(std::chrono::milliseconds timeout,
                   const std::function<void(const std::string &)> &tell) {
  leaveSignalsToOthers();
  constexpr std::chrono::milliseconds kTick(100);
  Starter starter = *findStarter();
  StartedAs as = *findStartedAs();
  auto end = std::chrono::steady_clock::now() + timeout;
  std::unique_lock<std::mutex> lock(mutex);
  while (!changed.wait_for(lock, kTick, [this] { return isOver; })) {
    // If that one is gone later, it has told.
    for (int64_t rank = 0; rank < as.rank; ++rank)
      if (isThere(starter.process, rank))
        return;
    if (std::chrono::steady_clock::now() < end)
      continue;
    if (std::string text = describeMissing(starter, as, timeout);
        !text.empty()) {
      tell(text);
      endProcess(1);
    }
    // All are there, and MPI takes its time.
    end += timeout;
  }
}
