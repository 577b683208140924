//===- Block.cpp - Warps, barriers and shared memory ----------------------===//

#include "runtime/emulated/Launch.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

using namespace dist;
using namespace dist::emulated;

// So that a warp that waits for another one's write sees it.
static constexpr uint64_t kSlice = 100'000;

void Block::start(uint64_t number) {
  index = number;
  const auto &[grid, size, dynamic] = launch.shape;
  at = {uint32_t(number % grid[0]), uint32_t(number / grid[0] % grid[1]),
        uint32_t(number / grid[0] / grid[1])};
  epoch = 1;
  isSynchronised = false;
  barriers.fill({});
  // NaN, which nobody has written.
  uint64_t granule = launch.kernel.sharedGranule;
  uint64_t bytes = launch.kernel.interface.sharedBytes;
  shared.assign(bytes, 0xff);
  cells.assign((bytes + granule - 1) / granule, {});
  bytes = 0;
  if (uint64_t alignment = launch.code.dynamicAlignment; alignment && dynamic)
    bytes = placeVariable(kDynamicShared, alignment) - kDynamicShared + dynamic;
  dynamicShared.assign(bytes, 0xff);
  dynamicCells.assign((bytes + granule - 1) / granule, {});
  uint64_t threads = uint64_t(size[0]) * size[1] * size[2];
  while (warps.size() * kLanes < threads)
    warps.push_back(std::make_unique<Warp>(*this, warps.size()));
  for (auto &warp : warps) {
    uint64_t left = threads - uint64_t(warp->index) * kLanes;
    warp->start(left >= kLanes ? kAllLanes : (1u << left) - 1);
  }
}

uint32_t Block::countLive() const {
  uint32_t count = 0;
  for (const auto &warp : warps)
    count += std::popcount(warp->live);
  return count;
}

void Block::arrive(uint32_t barrier, uint32_t threads, uint32_t expected,
                   uint32_t trues) {
  Barrier &state = barriers[barrier];
  state.arrived += threads;
  state.trues += trues;
  if (expected)
    state.expected = expected;
}

void Block::release(uint32_t barrier, bool isForced) {
  ++epoch;
  for (auto &warp : warps)
    if (warp->status == Warp::Status::Waiting)
      warp->resume(barrier, barriers[barrier], isForced);
  barriers[barrier] = {};
  if (isForced)
    barriers.fill({});
}

void Block::run(uint64_t number) {
  start(number);
  std::vector<size_t> order(warps.size());
  std::iota(order.begin(), order.end(), 0);
  if (launch.options.order == Order::Reverse)
    std::reverse(order.begin(), order.end());
  bool isSeeded = launch.options.order == Order::Seeded;
  for (;;) {
    bool isRunning = false, isLeft = false;
    if (isSeeded)
      std::shuffle(order.begin(), order.end(), launch.random);
    for (size_t i : order) {
      Warp &warp = *warps[i];
      if (warp.status == Warp::Status::Paused) {
        isRunning = true;
        warp.run(isSeeded ? 1 + launch.random() % 64 : kSlice);
        if (launch.isOver)
          return;
      }
      isLeft |= warp.status != Warp::Status::Finished;
    }
    if (!isLeft)
      return;
    uint32_t live = countLive();
    bool isReleased = false;
    for (uint32_t b = 0; b < barriers.size(); ++b) {
      const Barrier &state = barriers[b];
      uint32_t expected = state.expected ? state.expected : live;
      if (state.arrived && state.arrived >= expected) {
        release(b, /*isForced=*/false);
        isReleased = true;
      }
    }
    if (isRunning || isReleased)
      continue;
    // All that are left wait for what does not come.
    for (auto &warp : warps)
      if (warp->status == Warp::Status::Waiting) {
        const Operation *op = warp->waitingAt();
        launch.report(Fault::Barrier, *op, index, warp->threadOf(0), [&] {
          return "threads wait at a barrier to which others never come; all "
                 "go on";
        });
        break;
      }
    release(0, /*isForced=*/true);
  }
}

uint8_t *Block::findShared(uint64_t address, unsigned bytes) {
  std::vector<uint8_t> &memory =
      address >= kDynamicShared ? dynamicShared : shared;
  uint64_t offset =
      address >= kDynamicShared ? address - kDynamicShared : address;
  uint64_t alignment = launch.code.dynamicAlignment;
  if (offset > memory.size() || bytes > memory.size() - offset ||
      (address >= kDynamicShared && alignment &&
       address < placeVariable(kDynamicShared, alignment)))
    return nullptr;
  return memory.data() + offset;
}
