//===- InFlight.cpp - Nobody touches what a call has in flight ------------===//

#include "runtime/rank/InFlight.h"
#include "dist/Tensor.h"

#include <algorithm>
#include <cstring>
#include <tuple>

using namespace dist;

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
  std::tie(inBytes, outBytes) = bytesOf(call, topology.comms[call.comm]);
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
