//===- Warp.cpp - Which lanes run, and where they wait --------------------===//
//
// Of the groups of lanes of a function the one at the lowest address runs,
// until it meets another one or branches beyond it. That is how code whose
// joins lie behind its branches converges. A call holds back the lanes that did
// not make it until it returns.
//
//===----------------------------------------------------------------------===//

#include "runtime/emulated/Launch.h"

#include <algorithm>
#include <bit>
#include <cstring>

using namespace dist;
using namespace dist::emulated;

static bool isWarpSync(Kind kind) {
  return kind == Kind::Shuffle || kind == Kind::Vote || kind == Kind::Match ||
         kind == Kind::Reduce || kind == Kind::WarpSync;
}

Warp::Warp(Block &block, uint32_t index)
    : block(block), launch(block.launch), index(index),
      specials((SpecialCount + 1) / 2) {
  size_t local = launch.kernel.interface.localBytes;
  this->local.resize(local * kLanes);
  localWritten.resize(local * kLanes);
}

static void startFrame(Frame &frame, const Function &function, uint32_t lanes) {
  frame.function = &function;
  // NaN, as memory that nobody wrote.
  frame.memory.resize(function.registerBytes / sizeof(Broadcast) + 1);
  std::memset(frame.memory.data(), 0xff,
              frame.memory.size() * sizeof(Broadcast));
  std::memset(frame.registers(), 0, 4); // no carries
  uint32_t own = function.isKernel ? function.interface.parameterBytes : 0;
  frame.params.assign(size_t(function.paramBytes - own) * kLanes, 0xff);
  frame.groups.assign(1, Group{0, lanes, false, false});
  frame.lanes = lanes;
  frame.callSite = ~0u;
}

void Warp::setBases() {
  bases[RegisterBase] = frame().registers();
  // Constants are only read.
  const auto &constants = frame().function->constants;
  bases[ConstantBase] =
      const_cast<uint8_t *>(constants.empty() ? sink.bytes.data()
                                              : constants[0].bytes.data());
  bases[SpecialBase] = specials[0].bytes.data();
}

void Warp::start(uint32_t lanes) {
  live = lanes;
  status = Status::Paused;
  syncs = lastFullSync = 0;
  lastCommonSync.clear();
  std::fill(local.begin(), local.end(), 0xff);
  std::fill(localWritten.begin(), localWritten.end(), 0);
  if (frames.empty())
    frames.push_back(std::make_unique<Frame>());
  depth = 1;
  startFrame(*frames[0], launch.kernel, lanes);
  setBases();
  auto set = [&](Special special, unsigned lane, uint32_t value) {
    std::memcpy(specials[0].bytes.data() + special * 128 + lane * 4, &value, 4);
  };
  const auto &[grid, size, dynamic] = launch.shape;
  for (unsigned l = 0; l < kLanes; ++l) {
    uint64_t thread = threadOf(l);
    set(TidX, l, thread % size[0]);
    set(TidY, l, thread / size[0] % size[1]);
    set(TidZ, l, thread / size[0] / size[1]);
    for (unsigned i = 0; i < 3; ++i) {
      set(Special(NtidX + i), l, size[i]);
      set(Special(CtaidX + i), l, block.at[i]);
      set(Special(NctaidX + i), l, grid[i]);
    }
    set(LaneId, l, l);
    set(WarpId, l, index);
    set(WarpCount, l, block.warps.size());
    set(LaneEq, l, 1u << l);
    set(LaneLt, l, (1u << l) - 1);
    set(LaneLe, l, (2u << l) - 1);
    set(LaneGt, l, ~((2u << l) - 1));
    set(LaneGe, l, ~((1u << l) - 1));
    set(DynamicShared, l, dynamic);
    set(TotalShared, l, dynamic + launch.kernel.interface.sharedBytes);
  }
}

void Warp::report(Fault fault, const Operation &op, unsigned lane,
                  const std::function<std::string()> &text) {
  launch.report(fault, op, block.index, threadOf(lane), text);
}

bool Warp::haveMet(unsigned a, unsigned b, uint32_t sync) const {
  return sync < lastFullSync ||
         (!lastCommonSync.empty() && sync < lastCommonSync[a * kLanes + b]);
}

Warp::Status Warp::run(uint64_t most) {
  while (!launch.isOver) {
    if (most == 0)
      return status = Status::Paused;
    if (runGroup(most))
      continue;
    if (frame().groups.empty()) {
      if (depth == 1)
        return status = Status::Finished;
      leaveFrame();
    } else if (!giveUpWaiting()) {
      arriveAtBarriers();
      return status = Status::Waiting;
    }
  }
  return status = Status::Finished;
}

/// Runs the lowest group that does not wait; false if there is none.
bool Warp::runGroup(uint64_t &left) {
  std::vector<Group> &groups = frame().groups;
  size_t current = groups.size();
  uint32_t limit = ~0u;
  for (size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].isWaiting)
      continue;
    if (current == groups.size() || groups[i].pc < groups[current].pc) {
      if (current < groups.size())
        limit = std::min(limit, groups[current].pc);
      current = i;
    } else if (groups[i].pc == groups[current].pc) {
      groups[current].mask |= groups[i].mask;
      groups.erase(groups.begin() + i--);
    } else {
      limit = std::min(limit, groups[i].pc);
    }
  }
  if (current == groups.size())
    return false;
  const Operation *code = frame().function->operations.data();
  while (groups[current].pc < limit && left) {
    Group &group = groups[current];
    const Operation &op = code[group.pc];
    if (!launch.instructionsLeft) {
      report(Fault::Endless, op, std::countr_zero(group.mask), [&] {
        return "the launch is given up here after " +
               std::to_string(launch.options.mostInstructions) +
               " instructions of warps";
      });
      launch.isOver = true;
      return true;
    }
    --launch.instructionsLeft;
    --left;
    uint32_t active = group.mask;
    if (op.guard != kNoSlot)
      active &= readMask(op.guard, op.isNegated);
    ++launch.counts.warpInstructions;
    launch.counts.threadInstructions += std::popcount(active);
    if (op.kind < Kind::Shuffle) {
      if (active)
        execute(op, active);
      ++group.pc;
    } else if (!active) {
      ++group.pc;
    } else if (!step(op, active, current)) {
      return true;
    }
  }
  return true;
}

/// An operation that changes which lanes run. False if the groups or the frame
/// have changed.
bool Warp::step(const Operation &op, uint32_t active, size_t &current) {
  std::vector<Group> &groups = frame().groups;
  Group &group = groups[current];
  uint32_t rest = group.mask & ~active;
  switch (op.kind) {
  case Kind::Branch:
    if (!rest) {
      group.pc = op.target;
      return true;
    }
    group.mask = rest;
    ++group.pc;
    groups.push_back({op.target, active, false, false});
    return false;
  case Kind::BranchTable: {
    const std::vector<uint32_t> &table = frame().function->tables[op.target];
    ++group.pc;
    group.mask = rest;
    std::vector<Group> parts;
    for (unsigned l = 0; l < kLanes; ++l) {
      if (!(active >> l & 1))
        continue;
      uint32_t which = readLane<uint32_t>(op.a, l);
      if (which >= table.size()) {
        report(Fault::OutOfBounds, op, l, [&] {
          return "brx.idx with index " + std::to_string(which) + " of " +
                 std::to_string(table.size()) + " targets; the thread ends";
        });
        leave(1u << l);
        continue;
      }
      parts.push_back({table[which], 1u << l, false, false});
    }
    if (!rest)
      std::erase_if(groups, [](const Group &one) { return !one.mask; });
    // Equal targets are merged where the next group is chosen.
    groups.insert(groups.end(), parts.begin(), parts.end());
    return false;
  }
  case Kind::Return:
    if (depth > 1) {
      ++group.pc;
      group.mask = rest;
      if (!rest)
        groups.erase(groups.begin() + current);
      return false;
    }
    [[fallthrough]];
  case Kind::Exit:
    ++group.pc;
    leave(active);
    return false;
  case Kind::Trap:
    report(Fault::Trap, op, std::countr_zero(active),
           [] { return std::string("trap is executed; the threads end"); });
    ++group.pc;
    leave(active);
    return false;
  case Kind::Call:
    ++group.pc;
    if (rest) {
      group.mask = active;
      groups.push_back({group.pc, rest, false, false});
    }
    enter(op, active);
    return false;
  case Kind::Barrier:
    if (op.mode == uint8_t(BarrierMode::Arrive)) {
      unsigned lane = std::countr_zero(active);
      block.arrive(readLane<uint32_t>(op.a, lane) & 15, std::popcount(active),
                   readLane<uint32_t>(op.b, lane), 0);
      ++group.pc;
      return true;
    }
    waitAt(current, active);
    return false;
  default: { // of a warp
    bool isConsistent = true;
    // Without waiting where all are here, as nearly always.
    uint32_t required = requiredLanes(op, active, isConsistent);
    if (!rest && isConsistent && (active & required) == required) {
      bool isAlone = true;
      for (const Group &other : groups)
        isAlone &= !other.isWaiting || other.pc != group.pc;
      if (isAlone) {
        executeSync(op, active);
        ++group.pc;
        return true;
      }
    }
    Group &waiting = waitAt(current, active);
    required = requiredLanes(op, waiting.mask, isConsistent);
    if ((waiting.mask & required) == required) {
      executeSync(op, waiting.mask);
      waiting.isWaiting = false;
      ++waiting.pc;
    }
    return false;
  }
  }
}

/// Lanes that end.
void Warp::leave(uint32_t lanes) {
  live &= ~lanes;
  for (size_t i = 0; i < depth; ++i) {
    for (Group &group : frames[i]->groups)
      group.mask &= ~lanes;
    std::erase_if(frames[i]->groups,
                  [](const Group &group) { return !group.mask; });
  }
}

/// Splits off the lanes that wait at the current group's operation, and joins
/// those that wait there already.
Group &Warp::waitAt(size_t &current, uint32_t active) {
  std::vector<Group> &groups = frame().groups;
  uint32_t pc = groups[current].pc, rest = groups[current].mask & ~active;
  if (rest) {
    groups[current].mask = rest;
    ++groups[current].pc;
  } else {
    groups.erase(groups.begin() + current);
  }
  for (Group &group : groups)
    if (group.isWaiting && !group.hasArrived && group.pc == pc) {
      group.mask |= active;
      return group;
    }
  groups.push_back({pc, active, true, false});
  return groups.back();
}

/// The lanes that an operation of a warp names and that have not ended.
uint32_t Warp::requiredLanes(const Operation &op, uint32_t active,
                             bool &isConsistent) {
  uint32_t named = readLane<uint32_t>(op.e, std::countr_zero(active));
  for (unsigned l = 0; l < kLanes; ++l)
    if (active >> l & 1)
      isConsistent &= readLane<uint32_t>(op.e, l) == named;
  return named & live;
}

/// When nothing runs any more: an operation of a warp goes on without the lanes
/// that it names in vain. False if none waits at one.
bool Warp::giveUpWaiting() {
  Group *lowest = nullptr;
  for (Group &group : frame().groups)
    if (group.isWaiting && !group.hasArrived &&
        isWarpSync(frame().function->operations[group.pc].kind) &&
        (!lowest || group.pc < lowest->pc))
      lowest = &group;
  if (!lowest)
    return false;
  const Operation &op = frame().function->operations[lowest->pc];
  bool isConsistent = true;
  uint32_t missing = requiredLanes(op, lowest->mask, isConsistent) &
                     ~lowest->mask;
  report(Fault::MissingLanes, op, std::countr_zero(lowest->mask), [&] {
    return "lanes that the mask names do not come: " +
           std::to_string(std::popcount(missing)) + ", the first is lane " +
           std::to_string(std::countr_zero(missing));
  });
  executeSync(op, lowest->mask);
  lowest->isWaiting = false;
  ++lowest->pc;
  return true;
}

/// All groups of the frame wait at barriers.
void Warp::arriveAtBarriers() {
  std::vector<Group> &groups = frame().groups;
  for (Group &group : groups) {
    const Operation &op = frame().function->operations[group.pc];
    if (group.hasArrived)
      continue;
    group.hasArrived = true;
    unsigned lane = std::countr_zero(group.mask);
    if (op.isAligned && group.mask != live)
      report(Fault::PartOfWarp, op, lane, [&] {
        return std::to_string(std::popcount(group.mask)) + " of " +
               std::to_string(std::popcount(live)) +
               " lanes of a warp come to an aligned barrier";
      });
    uint32_t id = readLane<uint32_t>(op.a, lane);
    if (id > 15)
      report(Fault::Barrier, op, lane, [&] {
        return "there is no barrier " + std::to_string(id) + "; 0 to 15 are";
      });
    uint32_t trues = 0;
    if (op.mode != uint8_t(BarrierMode::Sync))
      trues = std::popcount(readMask(op.c, op.negatesC) & group.mask);
    block.arrive(id & 15, std::popcount(group.mask),
                 op.b == kNoSlot ? 0 : readLane<uint32_t>(op.b, lane), trues);
  }
}

const Operation *Warp::waitingAt() {
  for (const Group &group : frame().groups)
    if (group.isWaiting)
      return &frame().function->operations[group.pc];
  return nullptr;
}

void Warp::resume(uint32_t barrier, const Barrier &state, bool isForced) {
  for (Group &group : frame().groups) {
    if (!group.hasArrived)
      continue;
    const Operation &op = frame().function->operations[group.pc];
    uint32_t id =
        readLane<uint32_t>(op.a, std::countr_zero(group.mask)) & 15;
    if (id != barrier && !isForced)
      continue;
    switch (BarrierMode(op.mode)) {
    case BarrierMode::ReduceAnd:
      writeMask(op.d, state.trues == state.arrived ? kAllLanes : 0, group.mask);
      break;
    case BarrierMode::ReduceOr:
      writeMask(op.d, state.trues ? kAllLanes : 0, group.mask);
      break;
    case BarrierMode::Popc:
      for (unsigned l = 0; l < kLanes; ++l)
        if (group.mask >> l & 1)
          std::memcpy(writeSlot(op.d) + l * 4, &state.trues, 4);
      break;
    default:
      break;
    }
    group.isWaiting = group.hasArrived = false;
    ++group.pc;
    status = Status::Paused;
  }
}

/// Calls a function: its parameters are copied into its frame.
void Warp::enter(const Operation &op, uint32_t lanes) {
  Frame &caller = frame();
  const CallSite &site = caller.function->calls[op.target];
  const Function &callee = launch.code.functions[site.function];
  if (depth == frames.size())
    frames.push_back(std::make_unique<Frame>());
  Frame &called = *frames[depth];
  startFrame(called, callee, lanes);
  called.callSite = op.target;
  uint32_t own =
      caller.function->isKernel ? caller.function->interface.parameterBytes : 0;
  uint32_t size = caller.function->paramBytes - own;
  for (unsigned l = 0; l < kLanes; ++l)
    for (size_t i = 0; i < site.arguments.size(); ++i) {
      auto [offset, bytes] = site.arguments[i];
      uint8_t *to = called.params.data() + l * callee.paramBytes +
                    callee.interface.parameters[i].offset;
      if (offset < own)
        std::memcpy(to, launch.params.data() + offset, bytes);
      else
        std::memcpy(to, caller.params.data() + l * size + offset - own, bytes);
    }
  ++depth;
  setBases();
  // What an earlier call left in local memory is of no value.
  size_t functions = launch.code.localBytes;
  size_t all = launch.kernel.interface.localBytes;
  if (functions && depth == 2)
    for (unsigned l = 0; l < kLanes; ++l)
      if (lanes >> l & 1)
        std::fill_n(localWritten.begin() + l * all, functions, 0);
}

/// Returns to the caller with the results of the lanes.
void Warp::leaveFrame() {
  Frame &called = frame();
  --depth;
  Frame &caller = frame();
  const CallSite &site = caller.function->calls[called.callSite];
  uint32_t own =
      caller.function->isKernel ? caller.function->interface.parameterBytes : 0;
  uint32_t size = caller.function->paramBytes - own;
  for (unsigned l = 0; l < kLanes; ++l) {
    if (!(called.lanes >> l & 1))
      continue;
    for (size_t i = 0; i < site.results.size(); ++i) {
      auto [offset, bytes] = site.results[i];
      if (offset >= own)
        std::memcpy(caller.params.data() + l * size + offset - own,
                    called.params.data() + l * called.function->paramBytes +
                        called.function->results[i].offset,
                    bytes);
    }
  }
  setBases();
}
