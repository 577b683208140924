//===- MpiLink.cpp - Messages between ranks, by MPI -----------------------===//

#include "runtime/mpi/MpiLink.h"
#include "dist/Tensor.h"

#include <algorithm>
#include <chrono>
#include <sched.h>
#include <thread>

using namespace dist;
using Clock = std::chrono::steady_clock;

void MpiLink::start(int32_t channel, const std::vector<Outgoing> &sends,
                    const std::vector<Incoming> &receives, Requests &requests) {
  for (const Incoming &one : receives)
    for (int64_t at = 0; at < one.bytes; at += piece)
      requests.push_back(library.receive(one.rank, channel,
                                         static_cast<char *>(one.data) + at,
                                         std::min(piece, one.bytes - at)));
  for (const Outgoing &one : sends)
    for (int64_t at = 0; at < one.bytes; at += piece)
      requests.push_back(library.send(one.rank, channel,
                                      static_cast<const char *>(one.data) + at,
                                      std::min(piece, one.bytes - at)));
}

void MpiLink::useReductions(const Topology &topology,
                            const std::vector<bool> &reduce) {
  for (size_t i = 0; i < topology.comms.size(); ++i) {
    const Communicator &comm = topology.comms[i];
    if (reduce[i] && comm.size > 1)
      comms[i] =
          library.split(comm.group[library.rank()], comm.place[library.rank()]);
  }
}

bool MpiLink::canReduce(int32_t comm, dist_dtype dtype, dist_op op) const {
  return comms.count(comm) && library.canReduce(dtype, op);
}

void MpiLink::startReduction(const Reduction &one, Requests &requests) {
  int64_t comm = comms.at(one.comm);
  if (one.counts) {
    requests.push_back(library.reduceScatter(comm, one.dtype, one.op, one.in,
                                             one.out, one.counts));
    return;
  }
  const char *in = static_cast<const char *>(one.in);
  char *out = static_cast<char *>(one.out);
  for (int64_t at = 0; at < one.count; at += piece) {
    int64_t offset = at * dtypeBytes(one.dtype);
    requests.push_back(library.allReduce(comm, one.dtype, one.op, in + offset,
                                         out + offset,
                                         std::min(piece, one.count - at)));
  }
}

void MpiLink::poll(Requests &requests) {
  auto isDone = [&](int64_t request) { return library.test(request); };
  requests.erase(std::remove_if(requests.begin(), requests.end(), isDone),
                 requests.end());
}

/// Asking is what makes MPI go on. A waiting thread asks all the time at first,
/// then as often as others let it, and at last each 50 microseconds.
bool MpiLink::wait(Requests &requests, const Waiting &waiting) {
  constexpr std::chrono::microseconds kBusy(200), kPatient(2000), kNap(50);
  Clock::time_point began = Clock::now();
  while (!requests.empty()) {
    size_t before = requests.size();
    poll(requests);
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
