//===- Counting.cpp - Sectors and bank conflicts --------------------------===//

#include "runtime/emulated/Launch.h"

#include <algorithm>
#include <bit>

using namespace dist;
using namespace dist::emulated;

static constexpr unsigned kSectorBytes = 32, kBanks = 32, kBankBytes = 4;

/// Whether the active lanes' elements lie one behind the other.
static bool areInRow(const std::array<uint64_t, kLanes> &addresses,
                     uint32_t active, unsigned bytes) {
  if (active != kAllLanes)
    return false;
  bool areInRow = true;
  for (unsigned l = 0; l < kLanes; ++l)
    areInRow &= addresses[l] == addresses[0] + l * bytes;
  return areInRow;
}

void emulated::countGlobal(Counts &counts,
                           const std::array<uint64_t, kLanes> &addresses,
                           uint32_t active, unsigned bytes) {
  ++counts.globalRequests;
  if (areInRow(addresses, active, bytes)) {
    uint64_t end = addresses[0] + uint64_t(kLanes) * bytes - 1;
    counts.sectors += end / kSectorBytes - addresses[0] / kSectorBytes + 1;
    counts.usefulBytes += uint64_t(kLanes) * bytes;
    return;
  }
  uint64_t sorted[kLanes];
  unsigned count = 0;
  for (unsigned l = 0; l < kLanes; ++l)
    if (active >> l & 1)
      sorted[count++] = addresses[l];
  std::sort(sorted, sorted + count);
  uint64_t covered = 0, lastSector = ~uint64_t(0);
  for (unsigned i = 0; i < count; ++i) {
    uint64_t start = i ? std::max(sorted[i], covered) : sorted[i];
    uint64_t end = sorted[i] + bytes;
    if (end > start)
      counts.usefulBytes += end - start;
    covered = i ? std::max(covered, end) : end;
    for (uint64_t s = sorted[i] / kSectorBytes; s <= (end - 1) / kSectorBytes;
         ++s)
      if (lastSector == ~uint64_t(0) || s > lastSector) {
        ++counts.sectors;
        lastSector = s;
      }
  }
}

void emulated::countShared(Counts &counts,
                           const std::array<uint64_t, kLanes> &addresses,
                           uint32_t active, unsigned bytes) {
  // 128 bytes at a time: all lanes, halves, quarters or eighths of a warp.
  unsigned lanes = std::min(kLanes, kBanks * kBankBytes / bytes);
  if (areInRow(addresses, active, bytes)) {
    counts.sharedRequests += kLanes / lanes;
    counts.sharedCycles += kLanes / lanes;
    return;
  }
  for (unsigned first = 0; first < kLanes; first += lanes) {
    uint64_t words[kLanes * 2];
    unsigned count = 0;
    for (unsigned l = first; l < first + lanes; ++l)
      if (active >> l & 1)
        for (uint64_t w = addresses[l] / kBankBytes;
             w <= (addresses[l] + bytes - 1) / kBankBytes &&
             count < std::size(words);
             ++w)
          words[count++] = w;
    if (!count)
      continue;
    // Equal words are one access; different ones of a bank take a cycle each.
    std::sort(words, words + count);
    unsigned perBank[kBanks] = {}, cycles = 0;
    for (unsigned i = 0; i < count; ++i)
      if (!i || words[i] != words[i - 1])
        cycles = std::max(cycles, ++perBank[words[i] % kBanks]);
    ++counts.sharedRequests;
    counts.sharedCycles += cycles;
  }
}
