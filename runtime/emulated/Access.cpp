//===- Access.cpp - Loads, stores and atomics, checked --------------------===//

#include "runtime/emulated/Launch.h"
#include "runtime/emulated/Numbers.h"

#include <algorithm>
#include <bit>
#include <cstring>

using namespace dist;
using namespace dist::emulated;

static Space spaceOf(uint64_t address) {
  switch (address >> 56) {
  case kSharedWindow >> 56:
    return Space::Shared;
  case kLocalWindow >> 56:
    return Space::Local;
  case kParamWindow >> 56:
    return Space::Param;
  default:
    return Space::Global;
  }
}

static std::string verb(bool isWrite, unsigned bytes) {
  return (isWrite ? "writes " : "reads ") + std::to_string(bytes) + " bytes ";
}

void Warp::access(const Operation &op, uint32_t active) {
  std::array<uint64_t, kLanes> addresses;
  if (op.a == kNoSlot)
    addresses.fill(op.offset);
  else if (op.addressIsNarrow)
    for (unsigned l = 0; l < kLanes; ++l)
      addresses[l] = uint64_t(readLane<uint32_t>(op.a, l)) + op.offset;
  else
    for (unsigned l = 0; l < kLanes; ++l)
      addresses[l] = readLane<uint64_t>(op.a, l) + op.offset;
  if (op.space != Space::Generic)
    return accessSpace(op, active, op.space, addresses);
  while (active) {
    Space space = spaceOf(addresses[std::countr_zero(active)]);
    uint32_t here = 0;
    for (unsigned l = 0; l < kLanes; ++l)
      if (active >> l & 1 && spaceOf(addresses[l]) == space)
        here |= 1u << l;
    std::array<uint64_t, kLanes> inside = addresses;
    if (space != Space::Global)
      for (uint64_t &address : inside)
        address &= (uint64_t(1) << 56) - 1;
    accessSpace(op, here, space, inside);
    active &= ~here;
  }
}

void Warp::accessSpace(const Operation &op, uint32_t active, Space space,
                       const std::array<uint64_t, kLanes> &addresses) {
  unsigned bytes = bytesOf(op.type) * op.vector;
  bool isWrite = op.kind != Kind::Load;
  std::array<uint8_t *, kLanes> at{};
  if (op.exceedsAlignment)
    report(Fault::Misaligned, op, std::countr_zero(active), [&] {
      return verb(isWrite, bytes) + "of a variable whose alignment does not "
                                    "promise that";
    });
  for (unsigned l = 0; l < kLanes; ++l) {
    if (!(active >> l & 1))
      continue;
    uint64_t address = addresses[l];
    if (address & (bytes - 1)) {
      report(Fault::Misaligned, op, l, [&] {
        return verb(isWrite, bytes) + "at " +
               (space == Space::Global ? launch.describe(address)
                                       : std::to_string(address)) +
               ", which is no multiple of " + std::to_string(bytes);
      });
      continue;
    }
    switch (space) {
    case Space::Shared:
      at[l] = findShared(op, l, address, bytes, isWrite);
      break;
    case Space::Local:
      at[l] = findLocal(op, l, address, bytes, isWrite);
      break;
    case Space::Param:
      if (address + bytes <= launch.params.size() && !isWrite)
        at[l] = launch.params.data() + address;
      else
        report(Fault::OutOfBounds, op, l, [&] {
          return verb(isWrite, bytes) + "at offset " +
                 std::to_string(address) + " of the parameters";
        });
      break;
    default:
      at[l] = findGlobal(op, l, address, bytes, isWrite);
      break;
    }
  }
  if (space == Space::Global) {
    countGlobal(launch.counts, addresses, active, bytes);
    uint64_t moved = uint64_t(std::popcount(active)) * bytes;
    if (op.kind != Kind::Store)
      launch.counts.bytesRead += moved;
    if (isWrite)
      launch.counts.bytesWritten += moved;
  } else if (space == Space::Shared) {
    countShared(launch.counts, addresses, active, bytes);
  } else if (space == Space::Local) {
    launch.counts.localBytes += uint64_t(std::popcount(active)) * bytes;
  }
  if (op.kind == Kind::Atomic)
    atomic(op, active, space, at);
  else
    move(op, active, space, at);
}

/// Two accesses are ordered if a barrier lies between them, or within a warp a
/// bar.warp.sync of both lanes. Shuffles and votes order nothing in memory.
bool Warp::isRace(unsigned lane, uint64_t at) const {
  unsigned other = at & 1023;
  if (other == threadOf(lane) ||
      (at >> 10 & kEpochMask) != (block.epoch & kEpochMask))
    return false;
  return other / kLanes != index || !haveMet(lane, other % kLanes, at >> 37);
}

/// Notes an access of block number `me`; what it conflicts with of other
/// threads of its block. Two accesses that are both strong do not.
Warp::Conflict Warp::touch(Cell &cell, unsigned lane, uint32_t me, bool isWrite,
                           bool isStrong) {
  Conflict conflict = Conflict::None;
  if ((cell.writer & kBlockBits) == me &&
      !(isStrong && cell.writer & kStrongBit) && isRace(lane, cell.writeAt))
    conflict = Conflict::Written;
  uint64_t now = stampOf(threadOf(lane), block.epoch, syncs);
  uint32_t reader = cell.reader & kBlockBits;
  bool areOfEpoch = reader == me && (cell.readAt >> 10 & kEpochMask) ==
                                        (block.epoch & kEpochMask);
  if (isWrite) {
    if (areOfEpoch && !(isStrong && cell.reader & kStrongBit)) {
      unsigned last = cell.readAt & 1023;
      // Of several readers the last one's time stands for all.
      bool isOther = cell.reader & kManyWarpsBit
                         ? true
                     : cell.reader & kManyLanesBit && last / kLanes == index
                         ? !haveMet(lane, last % kLanes, cell.readAt >> 37)
                         : isRace(lane, cell.readAt);
      if (isOther)
        conflict = Conflict::Read;
    }
    cell.writer = me | (isStrong ? kStrongBit : 0);
    cell.writeAt = now;
    return conflict;
  }
  uint32_t flags = cell.reader & kNonCoherentBit;
  if (areOfEpoch) {
    unsigned last = cell.readAt & 1023;
    bool areOfWarp =
        last / kLanes == index && !(cell.reader & kManyWarpsBit);
    // What a warp has read before all its lanes met is ordered before what they
    // do now. To other warps the new reader is as good.
    if (!areOfWarp || cell.readAt >> 37 >= lastFullSync) {
      flags |= cell.reader & (kManyWarpsBit | kManyLanesBit);
      if (last / kLanes != index)
        flags |= kManyWarpsBit;
      else if (last != threadOf(lane))
        flags |= kManyLanesBit;
    }
  }
  if (isStrong && (!reader || cell.reader & kStrongBit))
    flags |= kStrongBit;
  cell.reader = (!reader || reader == me ? me : kManyBlocks) | flags;
  cell.readAt = now;
  return conflict;
}

uint8_t *Warp::findShared(const Operation &op, unsigned lane, uint64_t address,
                          unsigned bytes, bool isWrite) {
  uint8_t *data = block.findShared(address, bytes);
  bool isDynamic = address >= kDynamicShared;
  uint64_t offset = isDynamic ? address - kDynamicShared : address;
  auto fault = [&](Fault fault, auto text) {
    report(fault, op, lane, [&] {
      return verb(isWrite, bytes) + "at " + (isDynamic ? "dynamic " : "") +
             "shared memory+" + std::to_string(offset) + text();
    });
  };
  if (!data) {
    fault(Fault::OutOfBounds, [&] {
      return ", of which there are " +
             std::to_string(isDynamic ? launch.shape.sharedBytes
                                      : block.shared.size()) +
             " bytes";
    });
    return nullptr;
  }
  Cell *cell = (isDynamic ? block.dynamicCells : block.cells).data() +
               offset / launch.kernel.sharedGranule;
  for (unsigned i = 0; i < bytes; i += launch.kernel.sharedGranule, ++cell) {
    if (op.kind != Kind::Store && !cell->writer)
      fault(Fault::Unwritten,
            [] { return std::string(", which nobody has written"); });
    uint64_t writeAt = cell->writeAt, readAt = cell->readAt;
    Conflict conflict = touch(*cell, lane, 1, isWrite, op.isStrong);
    if (conflict != Conflict::None)
      fault(Fault::Race, [&] {
        bool isRead = conflict == Conflict::Read;
        return ", which thread " +
               std::to_string((isRead ? readAt : writeAt) & 1023) +
               (isRead ? " or another one has read" : " has written") +
               " since the last barrier";
      });
  }
  return data;
}

uint8_t *Warp::findGlobal(const Operation &op, unsigned lane, uint64_t address,
                          unsigned bytes, bool isWrite) {
  Buffer *buffer = launch.lastBuffer;
  uint64_t start = buffer ? buffer->address : 0;
  if (!buffer || address - start >= buffer->bytes ||
      bytes > buffer->bytes - (address - start)) {
    buffer = launch.memory.find(address, bytes);
    if (!buffer) {
      report(Fault::OutOfBounds, op, lane, [&] {
        return verb(isWrite, bytes) + "at " + launch.describe(address);
      });
      return nullptr;
    }
    launch.lastBuffer = buffer;
    start = buffer->address;
  }
  uint64_t offset = address - start;
  bool isRead = op.kind != Kind::Store;
  if (isRead && !buffer->isWritten(offset, bytes))
    report(Fault::Unwritten, op, lane, [&] {
      return verb(false, bytes) + "at " + launch.describe(address) +
             ", which nobody has written";
    });
  if (op.space == Space::Const)
    return buffer->data + offset;
  uint32_t me = (block.index + 1) & kBlockBits;
  Cell *cell = launch.cellsOf(*buffer, offset);
  auto race = [&](Fault fault, const char *what, const std::string &who) {
    report(fault, op, lane, [&] {
      return verb(isWrite, bytes) + "at " + launch.describe(address) +
             ", which " + who + " has " + what;
    });
  };
  auto blockName = [](uint32_t other) {
    return other == kManyBlocks ? std::string("another block")
                                : "block " + std::to_string(other - 1);
  };
  for (unsigned i = 0; i < bytes; i += launch.kernel.globalGranule, ++cell) {
    uint32_t writer = cell->writer & kBlockBits;
    uint32_t reader = cell->reader & kBlockBits;
    bool areStrong = op.isStrong && cell->writer & kStrongBit;
    if (writer && writer != me && !areStrong &&
        !(!isWrite && block.isSynchronised))
      race(Fault::BlockRace, "written", blockName(writer));
    if (isWrite && cell->reader & kNonCoherentBit)
      race(Fault::NonCoherent, "read by ld.global.nc", "the launch");
    else if (isWrite && reader && reader != me && !block.isSynchronised &&
             !(op.isStrong && cell->reader & kStrongBit))
      race(Fault::BlockRace, "read", blockName(reader));
    if (!isWrite && op.isNonCoherent && writer)
      report(Fault::NonCoherent, op, lane, [&] {
        return "ld.global.nc of " + std::to_string(bytes) + " bytes at " +
               launch.describe(address) + ", which the launch writes";
      });
    uint64_t writeAt = cell->writeAt, readAt = cell->readAt;
    switch (touch(*cell, lane, me, isWrite, op.isStrong)) {
    case Conflict::None:
      break;
    case Conflict::Written:
      race(Fault::Race, "written since the last barrier",
           "thread " + std::to_string(writeAt & 1023));
      break;
    case Conflict::Read:
      race(Fault::Race, "read since the last barrier",
           "thread " + std::to_string(readAt & 1023) + " or another one");
      break;
    }
    if (op.isNonCoherent)
      cell->reader |= kNonCoherentBit;
  }
  if (isWrite)
    buffer->setWritten(offset, bytes, true);
  return buffer->data + offset;
}

uint8_t *Warp::findLocal(const Operation &op, unsigned lane, uint64_t address,
                         unsigned bytes, bool isWrite) {
  // Functions' memory comes first, then the kernel's.
  uint64_t functions = launch.code.localBytes, own = launch.kernel.localBytes;
  bool isOwn = address >= kKernelLocal;
  uint64_t offset = isOwn ? address - kKernelLocal : address;
  uint64_t size = isOwn ? own : functions;
  if (offset > size || bytes > size - offset) {
    report(Fault::OutOfBounds, op, lane, [&] {
      return verb(isWrite, bytes) + "at local memory+" +
             std::to_string(offset) + ", which has " + std::to_string(size) +
             " bytes";
    });
    return nullptr;
  }
  uint64_t place = lane * (functions + own) + (isOwn ? functions : 0) + offset;
  if (isWrite)
    std::fill_n(localWritten.begin() + place, bytes, 1);
  if (op.kind != Kind::Store &&
      std::count(localWritten.begin() + place,
                 localWritten.begin() + place + bytes, 0))
    report(Fault::Unwritten, op, lane, [&] {
      return verb(false, bytes) + "at local memory+" + std::to_string(offset) +
             ", which the thread has not written";
    });
  return local.data() + place;
}

template <unsigned bytes>
static void loadLanes(uint8_t *d, uint32_t active,
                      const std::array<uint8_t *, kLanes> &at,
                      unsigned offset) {
  for (unsigned l = 0; l < kLanes; ++l) {
    if (!(active >> l & 1))
      continue;
    if (at[l])
      std::memcpy(d + l * bytes, at[l] + offset, bytes);
    else
      std::memset(d + l * bytes, 0xff, bytes);
  }
}

void Warp::move(const Operation &op, uint32_t active, Space space,
                const std::array<uint8_t *, kLanes> &at) {
  const Slot *vector = frame().function->vectors.data() + op.target;
  unsigned bytes = bytesOf(op.type), size = op.registerBytes;
  for (unsigned i = 0; i < op.vector; ++i) {
    if (op.kind == Kind::Load && bytes == size && bytes >= 4) {
      uint8_t *d = writeSlot(vector[i]);
      if (bytes == 4)
        loadLanes<4>(d, active, at, i * 4);
      else
        loadLanes<8>(d, active, at, i * 8);
      continue;
    }
    for (unsigned l = 0; l < kLanes; ++l) {
      if (!(active >> l & 1))
        continue;
      if (op.kind == Kind::Store) {
        if (at[l])
          std::memcpy(at[l] + i * bytes, readSlot(vector[i]) + l * size,
                      bytes);
        continue;
      }
      uint64_t value = ~uint64_t(0);
      if (at[l]) {
        value = 0;
        std::memcpy(&value, at[l] + i * bytes, bytes);
        unsigned unused = 64 - 8 * bytes;
        if (isSigned(op.type))
          value = int64_t(value << unused) >> unused;
      }
      std::memcpy(writeSlot(vector[i]) + l * size, &value, size);
    }
  }
}

template <class F> static uint64_t addAs(uint64_t a, uint64_t b) {
  double sum = addOdd(decode<F>(a), decode<F>(b));
  return sum == sum ? encode<F>(sum) : nanOf<F>();
}

/// The new value of an element.
static uint64_t combine(const Operation &op, Space space, uint64_t old,
                        uint64_t b, uint64_t c) {
  unsigned unused = 64 - bitsOf(op.type);
  bool isLess = isSigned(op.type)
                    ? int64_t(b << unused) < int64_t(old << unused)
                    : b < old;
  switch (AtomicOp(op.mode)) {
  case AtomicOp::Add:
    switch (op.type) {
    case Type::F32: {
      // In global memory denormals are flushed, in shared memory kept (PTX
      // ISA, atom).
      if (space == Space::Shared)
        return addAs<Single>(old, b);
      auto flush = [](uint64_t bits) -> uint64_t {
        return bits & 0x7f800000 ? bits : bits & 0x80000000;
      };
      return flush(addAs<Single>(flush(old), flush(b)));
    }
    case Type::F64:
      return std::bit_cast<uint64_t>(std::bit_cast<double>(old) +
                                     std::bit_cast<double>(b));
    case Type::F16:
      return addAs<Half>(old, b);
    case Type::BF16:
      return addAs<Brain>(old, b);
    case Type::F16x2:
      return addAs<Half>(old, b) | addAs<Half>(old >> 16, b >> 16) << 16;
    case Type::BF16x2:
      return addAs<Brain>(old, b) | addAs<Brain>(old >> 16, b >> 16) << 16;
    default:
      return old + b;
    }
  case AtomicOp::Min:
    return isLess ? b : old;
  case AtomicOp::Max:
    return isLess ? old : b;
  case AtomicOp::And:
    return old & b;
  case AtomicOp::Or:
    return old | b;
  case AtomicOp::Xor:
    return old ^ b;
  case AtomicOp::Exchange:
    return b;
  case AtomicOp::Cas:
    return old == b ? c : old;
  case AtomicOp::Inc:
    return old >= b ? 0 : old + 1;
  case AtomicOp::Dec:
    return old == 0 || old > b ? b : old - 1;
  }
  return old;
}

void Warp::atomic(const Operation &op, uint32_t active, Space space,
                  const std::array<uint8_t *, kLanes> &at) {
  if (space == Space::Global)
    block.isSynchronised = true;
  unsigned bytes = bytesOf(op.type);
  uint64_t results[kLanes];
  // Which lane comes first is nobody's promise.
  unsigned first = launch.options.order == Order::Seeded
                       ? launch.random() % kLanes
                       : 0;
  for (unsigned i = 0; i < kLanes; ++i) {
    unsigned l = (i + first) % kLanes;
    if (launch.options.order == Order::Reverse)
      l = kLanes - 1 - i;
    results[l] = ~uint64_t(0);
    if (!(active >> l & 1) || !at[l])
      continue;
    uint64_t old = 0, b = 0, c = 0;
    std::memcpy(&old, at[l], bytes);
    std::memcpy(&b, readSlot(op.b) + l * bytes, bytes);
    if (op.c != kNoSlot)
      std::memcpy(&c, readSlot(op.c) + l * bytes, bytes);
    uint64_t value = combine(op, space, old, b, c);
    std::memcpy(at[l], &value, bytes);
    results[l] = old;
  }
  if (op.d == kNoSlot)
    return;
  for (unsigned l = 0; l < kLanes; ++l)
    if (active >> l & 1)
      std::memcpy(writeSlot(op.d) + l * bytes, &results[l], bytes);
}
