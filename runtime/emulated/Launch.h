//===- Launch.h - A launch under way ----------------------------*- C++ -*-===//

#ifndef DIST_RUNTIME_EMULATED_LAUNCH_H
#define DIST_RUNTIME_EMULATED_LAUNCH_H

#include "runtime/emulated/Code.h"

#include <cstring>
#include <functional>
#include <random>

namespace dist::emulated {

/// The last write of an element of memory and the last reads, in this launch:
/// block numbers plus one, with flags, and who in that block and when.
struct Cell {
  uint32_t writer = 0, reader = 0;
  uint64_t writeAt = 0, readAt = 0;
};
constexpr uint32_t kBlockBits = 0x07ffffff;
constexpr uint32_t kManyBlocks = kBlockBits; // of readers
constexpr uint32_t kManyWarpsBit = 1u << 28, kManyLanesBit = 1u << 29;
constexpr uint32_t kNonCoherentBit = 1u << 30, kStrongBit = 1u << 31;

/// 10 bits of the thread, 27 of the block's barriers so far, 27 of the warp's
/// synchronisations so far.
constexpr uint32_t kEpochMask = (1 << 27) - 1;
constexpr uint64_t stampOf(uint64_t thread, uint32_t epoch, uint32_t syncs) {
  return thread | uint64_t(epoch & kEpochMask) << 10 |
         uint64_t(syncs & kEpochMask) << 37;
}

struct Buffer {
  uint8_t *data = nullptr;
  /// Of the device.
  uint64_t address = 0;
  uint64_t bytes = 0;
  std::string name;
  void *allocation = nullptr;
  /// A bit a byte; empty while all are written.
  std::vector<uint64_t> written;
  /// A cell a granule of the kernel that runs; made at its first access.
  std::unique_ptr<Cell[], void (*)(void *)> cells{nullptr, std::free};

  bool isWritten(uint64_t offset, uint64_t count) const;
  void setWritten(uint64_t offset, uint64_t count, bool isWritten);
};

class Launch;
class Warp;

/// Where a barrier stands.
struct Barrier {
  uint32_t arrived = 0, expected = 0, trues = 0;
};

class Block {
public:
  explicit Block(Launch &launch) : launch(launch) {}
  void run(uint64_t index);

  void arrive(uint32_t barrier, uint32_t threads, uint32_t expected,
              uint32_t trues);
  uint8_t *findShared(uint64_t address, unsigned bytes);

  Launch &launch;
  uint64_t index = 0;
  std::array<uint32_t, 3> at{};
  uint32_t epoch = 1;
  /// It has ordered its accesses to global memory with those of other blocks,
  /// by a fence or an atomic: what it reads of theirs is no race then.
  bool isSynchronised = false;
  std::array<Barrier, 16> barriers;
  std::vector<uint8_t> shared, dynamicShared;
  std::vector<Cell> cells, dynamicCells;
  std::vector<std::unique_ptr<Warp>> warps;

private:
  void start(uint64_t number);
  void release(uint32_t barrier, bool isForced);
  uint32_t countLive() const;
};

/// Lanes at one place of a function.
struct Group {
  uint32_t pc = 0, mask = 0;
  bool isWaiting = false, hasArrived = false;
};

/// A function that lanes are in.
struct Frame {
  const Function *function = nullptr;
  std::vector<Broadcast> memory; // registers
  std::vector<uint8_t> params;   // of each lane, one behind the other
  std::vector<Group> groups;
  uint32_t callSite = ~0u;
  /// The caller's, of which results go into its memory.
  uint32_t lanes = 0;

  uint8_t *registers() { return memory[0].bytes.data(); }
};

class Warp {
public:
  Warp(Block &block, uint32_t index);
  void start(uint32_t lanes);

  enum class Status { Finished, Waiting, Paused };
  /// Runs for at most `most` instructions.
  Status run(uint64_t most);
  /// Goes on behind a barrier with the groups that wait there; all groups if it
  /// is given up.
  void resume(uint32_t barrier, const Barrier &state, bool isForced);
  /// The line at which it waits.
  const Operation *waitingAt();

  uint64_t threadOf(unsigned lane) const { return index * kLanes + lane; }
  /// Whether two lanes have met at bar.warp.sync after sync number `sync`.
  bool haveMet(unsigned a, unsigned b, uint32_t sync) const;

  Block &block;
  Launch &launch;
  uint32_t index;
  uint32_t live = 0;
  Status status = Status::Paused;
  uint32_t syncs = 0;

private:
  friend class Block;
  // Control: Warp.cpp
  bool runGroup(uint64_t &left);
  bool step(const Operation &op, uint32_t active, size_t &group);
  void leave(uint32_t lanes);
  void arriveAtBarriers();
  bool giveUpWaiting();
  void enter(const Operation &op, uint32_t lanes);
  void leaveFrame();
  Group &waitAt(size_t &group, uint32_t active);
  uint32_t requiredLanes(const Operation &op, uint32_t active,
                         bool &isConsistent);
  // One operation: Operations.cpp
  void execute(const Operation &op, uint32_t active);
  void executeSync(const Operation &op, uint32_t active);
  void compare(const Operation &op, uint32_t active);
  void select(const Operation &op, uint32_t active);
  void logic(const Operation &op, uint32_t active);
  void moveBits(const Operation &op, uint32_t active);
  void divide(const Operation &op, uint32_t active);
  void carry(const Operation &op, uint32_t active);
  void insert(const Operation &op, uint32_t active);
  void shuffle(const Operation &op, uint32_t active);
  void vote(const Operation &op, uint32_t active);
  void match(const Operation &op, uint32_t active);
  void reduce(const Operation &op, uint32_t active);
  void isSpace(const Operation &op, uint32_t active);
  void parameter(const Operation &op, uint32_t active);
  // Memory: Access.cpp
  void access(const Operation &op, uint32_t active);
  void accessSpace(const Operation &op, uint32_t active, Space space,
                   const std::array<uint64_t, kLanes> &addresses);
  uint8_t *findGlobal(const Operation &op, unsigned lane, uint64_t address,
                      unsigned bytes, bool isWrite);
  uint8_t *findShared(const Operation &op, unsigned lane, uint64_t address,
                      unsigned bytes, bool isWrite);
  enum class Conflict { None, Written, Read };
  Conflict touch(Cell &cell, unsigned lane, uint32_t me, bool isWrite,
                 bool isStrong);
  bool isRace(unsigned lane, uint64_t at) const;
  uint8_t *findLocal(const Operation &op, unsigned lane, uint64_t address,
                     unsigned bytes, bool isWrite);
  void move(const Operation &op, uint32_t active, Space space,
            const std::array<uint8_t *, kLanes> &at);
  void atomic(const Operation &op, uint32_t active, Space space,
              const std::array<uint8_t *, kLanes> &at);
  void report(Fault fault, const Operation &op, unsigned lane,
              const std::function<std::string()> &text);

  Frame &frame() { return *frames[depth - 1]; }
  const uint8_t *readSlot(Slot slot) const {
    return bases[slot >> 30] + (slot & 0x3fffffff);
  }
  uint8_t *writeSlot(Slot slot) {
    return slot == kNoSlot ? sink.bytes.data()
                           : bases[RegisterBase] + (slot & 0x3fffffff);
  }
  uint32_t readMask(Slot slot, bool isNegated) const {
    uint32_t mask;
    std::memcpy(&mask, readSlot(slot), 4);
    return isNegated ? ~mask : mask;
  }
  void writeMask(Slot slot, uint32_t value, uint32_t lanes);
  template <class T> T readLane(Slot slot, unsigned lane) const {
    T value;
    std::memcpy(&value, readSlot(slot) + lane * sizeof(T), sizeof(T));
    return value;
  }
  void setBases();

  /// Frames are kept for the next calls.
  std::vector<std::unique_ptr<Frame>> frames;
  size_t depth = 0;
  uint8_t *bases[3];
  std::vector<Broadcast> specials;
  Broadcast sink;
  uint32_t lastFullSync = 0;
  std::vector<uint32_t> lastCommonSync; // of each pair, once syncs are partial
  std::vector<uint8_t> local, localWritten;
};

/// The coalescing of global accesses and the conflicts of shared ones.
void countGlobal(Counts &counts, const std::array<uint64_t, kLanes> &addresses,
                 uint32_t active, unsigned bytes);
void countShared(Counts &counts, const std::array<uint64_t, kLanes> &addresses,
                 uint32_t active, unsigned bytes);

class Launch {
public:
  Launch(const Module &module, const std::string &kernel,
         const LaunchShape &shape, const std::vector<const void *> &arguments,
         const LaunchOptions &options);
  ~Launch();
  LaunchResult run();

  void report(Fault fault, const Operation &op, uint64_t block, uint64_t thread,
              const std::function<std::string()> &text);
  /// "x+16", or the address.
  std::string describe(uint64_t address) const;

  const Code &code;
  const Function &kernel;
  Memory &memory;
  LaunchShape shape;
  LaunchOptions options;
  std::vector<uint8_t> params;
  Counts counts;
  uint64_t instructionsLeft;
  bool isOver = false; // given up
  std::mt19937_64 random;
  Buffer *lastBuffer = nullptr;

  /// The cells of a buffer from an offset on.
  Cell *cellsOf(Buffer &buffer, uint64_t offset);

private:
  static const Function &find(const Module &module, const std::string &name);
  uint64_t blockAt(uint64_t position) const;

  std::map<std::pair<uint32_t, Fault>, Report> reports;
  std::vector<Buffer *> withCells;
  uint64_t blockCount = 0, step = 1, first = 0; // of a seeded order
};

} // namespace dist::emulated

#endif // DIST_RUNTIME_EMULATED_LAUNCH_H
