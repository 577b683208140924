//===- InFlight.cpp - Nobody touches what a call has in flight ------------===//

#include "runtime/rank/InFlight.h"
#include "dist/Tensor.h"

#include <algorithm>
#include <cstring>
#include <utility>

using namespace dist;

/// Elements that a rank gives and receives (runtime.h).
static std::pair<int64_t, int64_t> elementsOf(const CollectiveCall &call,
                                              const Communicator &comm) {
  int64_t whole = call.outer * call.whole * call.inner;
  int64_t rows = blockRows(comm.sizes, call.whole);
  int64_t block = call.outer * rows * call.inner;
  int64_t halo = call.outer * (call.low + call.high) * call.inner;
  switch (call.kind) {
  case CollectiveKind::AllReduce:
  case CollectiveKind::Broadcast:
  case CollectiveKind::Permute:
    return {call.whole, call.whole};
  case CollectiveKind::AllGather:
    return {block, whole};
  case CollectiveKind::ReduceScatter:
    return {whole, block};
  case CollectiveKind::AllToAll:
    return {whole * call.middle * blockRows(comm.sizes, call.concatWhole),
            block * call.middle * call.concatWhole};
  case CollectiveKind::Halo:
    return {block, block + halo};
  case CollectiveKind::HaloReduce:
    return {block + halo, block};
  case CollectiveKind::GatherRows:
  case CollectiveKind::ReduceRows: {
    int64_t named = call.plan->indices.size() * call.outer * call.inner;
    bool gathers = call.kind == CollectiveKind::GatherRows;
    return {gathers ? block : named, gathers ? named : block};
  }
  }
  return {0, 0};
}

/// FNV-1a over words.
static uint64_t sumOf(const void *data, int64_t bytes) {
  uint64_t sum = 0xcbf29ce484222325ull;
  const char *at = static_cast<const char *>(data);
  for (int64_t i = 0; i < bytes; i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, at + i, std::min<int64_t>(8, bytes - i));
    sum = (sum ^ word) * 0x100000001b3ull;
    sum ^= sum >> 32;
  }
  return sum;
}

InFlight::InFlight(const CollectiveCall &call, const Topology &topology)
    : call(call), topology(topology) {
  auto [in, out] = elementsOf(call, topology.comms[call.comm]);
  inBytes = in * dtypeBytes(call.dtype);
  outBytes = out * dtypeBytes(call.dtype);
  if (call.in != call.out)
    std::memset(call.out, 255, outBytes);
  inSum = sumOf(call.in, inBytes);
  outSum = sumOf(call.out, outBytes);
}

void InFlight::arrive() {
  outSum = sumOf(call.out, outBytes);
  if (call.in == call.out)
    inSum = outSum;
}

std::string InFlight::check() const {
  bool isOperand = sumOf(call.in, inBytes) != inSum;
  if (!isOperand && sumOf(call.out, outBytes) == outSum)
    return "";
  return std::string("the ") + (isOperand ? "operand" : "result") + " of " +
         toString(call, topology.sites) + " was written while in flight";
}
