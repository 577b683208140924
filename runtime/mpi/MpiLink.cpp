//===- MpiLink.cpp - Messages between ranks, by MPI -----------------------===//

#include "runtime/mpi/MpiLink.h"

#include <algorithm>
#include <chrono>
#include <sched.h>
#include <thread>

using namespace dist;
using Clock = std::chrono::steady_clock;

/// MPI counts in 32 bits.
static constexpr int64_t kMostBytes = int64_t{1} << 30;

void MpiLink::start(int32_t channel, const std::vector<Outgoing> &sends,
                    const std::vector<Incoming> &receives, Requests &requests) {
  for (const Incoming &one : receives)
    for (int64_t at = 0; at < one.bytes; at += kMostBytes)
      requests.push_back(library.receive(one.rank, channel,
                                         static_cast<char *>(one.data) + at,
                                         std::min(kMostBytes, one.bytes - at)));
  for (const Outgoing &one : sends)
    for (int64_t at = 0; at < one.bytes; at += kMostBytes)
      requests.push_back(library.send(one.rank, channel,
                                      static_cast<const char *>(one.data) + at,
                                      std::min(kMostBytes, one.bytes - at)));
}

/// Asking is what makes MPI go on. A waiting thread asks all the time at first,
/// then as often as others let it, and at last each 50 microseconds.
bool MpiLink::wait(Requests &requests, const Waiting &waiting) {
  constexpr std::chrono::microseconds kBusy(200), kPatient(2000), kNap(50);
  Clock::time_point began = Clock::now();
  for (int64_t turn = 0; !requests.empty(); ++turn) {
    auto isDone = [&](int64_t request) { return library.test(request); };
    size_t before = requests.size();
    requests.erase(std::remove_if(requests.begin(), requests.end(), isDone),
                   requests.end());
    if (requests.empty())
      break;
    if (waiting.failed())
      return false;
    if (requests.size() != before) {
      began = Clock::now();
      continue;
    }
    auto waited = Clock::now() - began;
    if (waited > kPatient)
      std::this_thread::sleep_for(kNap);
    else if (!spins || waited > kBusy)
      sched_yield();
  }
  return true;
}
