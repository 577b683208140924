//===- Operations.cpp - One operation of a warp ---------------------------===//

#include "runtime/emulated/Launch.h"

#include <algorithm>
#include <bit>
#include <cstring>

using namespace dist;
using namespace dist::emulated;

void Warp::writeMask(Slot slot, uint32_t value, uint32_t lanes) {
  if (slot == kNoSlot)
    return;
  uint32_t mask = readMask(slot, false);
  mask = (mask & ~lanes) | (value & lanes);
  std::memcpy(writeSlot(slot), &mask, 4);
}

static uint64_t readBits(const uint8_t *from, unsigned bytes, unsigned lane) {
  uint64_t value = 0;
  std::memcpy(&value, from + lane * bytes, bytes);
  return value;
}

void Warp::execute(const Operation &op, uint32_t active) {
  switch (op.kind) {
  case Kind::Lanes:
    op.function(op, writeSlot(op.d), readSlot(op.a),
                op.b == kNoSlot ? nullptr : readSlot(op.b),
                op.c == kNoSlot ? nullptr : readSlot(op.c), active);
    return;
  case Kind::Compare:
    return compare(op, active);
  case Kind::Select:
    return select(op, active);
  case Kind::Logic:
    return logic(op, active);
  case Kind::MoveBits:
    return moveBits(op, active);
  case Kind::Divide:
    return divide(op, active);
  case Kind::Carry:
    return carry(op, active);
  case Kind::Insert:
    return insert(op, active);
  case Kind::Clock: {
    unsigned bytes = bytesOf(op.type);
    for (unsigned l = 0; l < kLanes; ++l)
      if (active >> l & 1)
        std::memcpy(writeSlot(op.d) + l * bytes,
                    &launch.counts.warpInstructions, bytes);
    return;
  }
  case Kind::ActiveMask:
    for (unsigned l = 0; l < kLanes; ++l)
      if (active >> l & 1)
        std::memcpy(writeSlot(op.d) + l * 4, &active, 4);
    return;
  case Kind::IsSpace:
    return isSpace(op, active);
  case Kind::Fence:
    block.isSynchronised = true;
    return;
  case Kind::Load:
  case Kind::Store:
  case Kind::Atomic:
    return access(op, active);
  case Kind::LoadParam:
  case Kind::StoreParam:
    return parameter(op, active);
  default:
    return;
  }
}

void Warp::executeSync(const Operation &op, uint32_t active) {
  uint32_t named = readLane<uint32_t>(op.e, std::countr_zero(active));
  for (unsigned l = 0; l < kLanes; ++l)
    if (active >> l & 1) {
      if (readLane<uint32_t>(op.e, l) != named) {
        report(Fault::MissingLanes, op, l, [] {
          return std::string("the lanes that come name different masks");
        });
        break;
      }
      if (!(named >> l & 1)) {
        report(Fault::MissingLanes, op, l, [&] {
          return "lane " + std::to_string(l) + " comes, but its mask does not "
                                               "name it";
        });
        break;
      }
    }
  switch (op.kind) {
  case Kind::Shuffle:
    return shuffle(op, active);
  case Kind::Vote:
    return vote(op, active);
  case Kind::Match:
    return match(op, active);
  case Kind::Reduce:
    return reduce(op, active);
  default:
    break;
  }
  // bar.warp.sync orders what its lanes do in memory.
  ++syncs;
  if ((active & live) == live) {
    lastFullSync = syncs;
  } else {
    lastCommonSync.resize(kLanes * kLanes);
    for (unsigned a = 0; a < kLanes; ++a)
      for (unsigned b = 0; b < kLanes; ++b)
        if (active >> a & active >> b & 1)
          lastCommonSync[a * kLanes + b] = syncs;
  }
}

void Warp::compare(const Operation &op, uint32_t active) {
  uint32_t result, other;
  if (op.isOfPairs) {
    uint16_t pairs[2][2 * kLanes], halves[2][2][kLanes];
    std::memcpy(pairs[0], readSlot(op.a), sizeof pairs[0]);
    std::memcpy(pairs[1], readSlot(op.b), sizeof pairs[1]);
    for (unsigned side = 0; side < 2; ++side)
      for (unsigned i = 0; i < 2 * kLanes; ++i)
        halves[i % 2][side][i / 2] = pairs[side][i];
    result = op.compare(op, halves[0][0], halves[0][1]);
    other = op.compare(op, halves[1][0], halves[1][1]);
  } else {
    result = op.compare(op, readSlot(op.a), readSlot(op.b));
    other = ~result;
  }
  if (op.vector) {
    uint32_t third = readMask(op.c, op.negatesC);
    switch (BoolOp(op.vector)) {
    case BoolOp::And:
      result &= third;
      other &= third;
      break;
    case BoolOp::Or:
      result |= third;
      other |= third;
      break;
    default:
      result ^= third;
      other ^= third;
      break;
    }
  }
  writeMask(op.d, result, active);
  writeMask(op.e, other, active);
}

template <class T>
static void choose(uint8_t *d, const uint8_t *a, const uint8_t *b,
                   uint32_t chosen, uint32_t active) {
  T x[kLanes], y[kLanes], z[kLanes];
  std::memcpy(x, a, sizeof x);
  std::memcpy(y, b, sizeof y);
  std::memcpy(z, d, sizeof z);
  for (unsigned l = 0; l < kLanes; ++l) {
    T value = chosen >> l & 1 ? x[l] : y[l];
    z[l] = active >> l & 1 ? value : z[l];
  }
  std::memcpy(d, z, sizeof z);
}

void Warp::select(const Operation &op, uint32_t active) {
  uint32_t chosen = readMask(op.c, op.negatesC);
  uint8_t *d = writeSlot(op.d);
  const uint8_t *a = readSlot(op.a), *b = readSlot(op.b);
  switch (bytesOf(op.type)) {
  case 2:
    return choose<uint16_t>(d, a, b, chosen, active);
  case 4:
    return choose<uint32_t>(d, a, b, chosen, active);
  default:
    return choose<uint64_t>(d, a, b, chosen, active);
  }
}

void Warp::logic(const Operation &op, uint32_t active) {
  uint32_t a = readMask(op.a, op.negatesA);
  uint32_t b = op.b == kNoSlot ? 0 : readMask(op.b, op.negatesB);
  uint32_t result = 0;
  switch (BoolOp(op.mode)) {
  case BoolOp::And:
    result = a & b;
    break;
  case BoolOp::Or:
    result = a | b;
    break;
  case BoolOp::Xor:
    result = a ^ b;
    break;
  case BoolOp::Not:
    result = ~a;
    break;
  default:
    result = a;
    break;
  }
  writeMask(op.d, result, active);
}

void Warp::moveBits(const Operation &op, uint32_t active) {
  const Slot *vector = frame().function->vectors.data() + op.target;
  unsigned part = op.registerBytes, whole = part * op.vector;
  for (unsigned l = 0; l < kLanes; ++l) {
    if (!(active >> l & 1))
      continue;
    uint8_t bits[8] = {};
    if (op.mode) {
      std::memcpy(bits, readSlot(op.a) + l * whole, whole);
      for (unsigned i = 0; i < op.vector; ++i)
        std::memcpy(writeSlot(vector[i]) + l * part, bits + i * part, part);
    } else {
      for (unsigned i = 0; i < op.vector; ++i)
        std::memcpy(bits + i * part, readSlot(vector[i]) + l * part, part);
      std::memcpy(writeSlot(op.d) + l * whole, bits, whole);
    }
  }
}

void Warp::divide(const Operation &op, uint32_t active) {
  unsigned bits = bitsOf(op.type), bytes = bits / 8, unused = 64 - bits;
  bool isRemainder = op.mode;
  uint8_t *d = writeSlot(op.d);
  for (unsigned l = 0; l < kLanes; ++l) {
    if (!(active >> l & 1))
      continue;
    uint64_t a = readBits(readSlot(op.a), bytes, l);
    uint64_t b = readBits(readSlot(op.b), bytes, l), result;
    if (!b) {
      report(Fault::DivisionByZero, op, l, [&] {
        return std::string(isRemainder ? "a remainder" : "a quotient") +
               " of an integer by zero";
      });
      result = isRemainder ? a : ~uint64_t(0);
    } else if (isSigned(op.type)) {
      int64_t x = int64_t(a << unused) >> unused;
      int64_t y = int64_t(b << unused) >> unused;
      // The one that overflows.
      if (y == -1)
        result = isRemainder ? 0 : -uint64_t(x);
      else
        result = isRemainder ? x % y : x / y;
    } else {
      result = isRemainder ? a % b : a / b;
    }
    std::memcpy(d + l * bytes, &result, bytes);
  }
}

/// add.cc, addc, sub.cc and subc; the carries' mask is the first register.
void Warp::carry(const Operation &op, uint32_t active) {
  unsigned bytes = bytesOf(op.type);
  uint64_t most = ~uint64_t(0) >> (64 - 8 * bytes);
  uint32_t carries = readMask(slotAt(RegisterBase, 0), false);
  uint8_t *d = writeSlot(op.d);
  for (unsigned l = 0; l < kLanes; ++l) {
    if (!(active >> l & 1))
      continue;
    uint64_t a = readBits(readSlot(op.a), bytes, l);
    uint64_t b = readBits(readSlot(op.b), bytes, l);
    bool in = op.readsCarry && (carries >> l & 1), out;
    unsigned __int128 wide = a;
    if (op.mode) { // a borrow is a carry
      out = wide < (unsigned __int128)b + in;
      wide = wide - b - in;
    } else {
      wide = wide + b + in;
      out = wide > most;
    }
    uint64_t result = uint64_t(wide);
    std::memcpy(d + l * bytes, &result, bytes);
    if (op.writesCarry)
      carries = (carries & ~(1u << l)) | uint32_t(out) << l;
  }
  if (op.writesCarry)
    std::memcpy(writeSlot(slotAt(RegisterBase, 0)), &carries, 4);
}

void Warp::insert(const Operation &op, uint32_t active) {
  unsigned bytes = bytesOf(op.type), bits = 8 * bytes;
  uint8_t *d = writeSlot(op.d);
  for (unsigned l = 0; l < kLanes; ++l) {
    if (!(active >> l & 1))
      continue;
    uint64_t field = readBits(readSlot(op.a), bytes, l);
    uint64_t result = readBits(readSlot(op.b), bytes, l);
    unsigned start = readLane<uint32_t>(op.c, l) & 255;
    unsigned length = readLane<uint32_t>(op.e, l) & 255;
    for (unsigned i = 0; i < length && start + i < bits; ++i) {
      uint64_t bit = uint64_t(1) << (start + i);
      result = field >> i & 1 ? result | bit : result & ~bit;
    }
    std::memcpy(d + l * bytes, &result, bytes);
  }
}

/// shfl.sync, as the manual's pseudo code has it.
void Warp::shuffle(const Operation &op, uint32_t active) {
  uint32_t values[kLanes], inRange = 0;
  for (unsigned l = 0; l < kLanes; ++l) {
    if (!(active >> l & 1))
      continue;
    uint32_t b = readLane<uint32_t>(op.b, l) & 31;
    uint32_t c = readLane<uint32_t>(op.c, l);
    uint32_t segment = c >> 8 & 31, clamp = c & 31;
    int most = (l & segment) | (clamp & ~segment), least = l & segment;
    int lane = l, from = lane;
    bool fits = true;
    switch (ShuffleMode(op.mode)) {
    case ShuffleMode::Up:
      from = lane - int(b);
      fits = from >= most;
      break;
    case ShuffleMode::Down:
      from = lane + int(b);
      fits = from <= most;
      break;
    case ShuffleMode::Butterfly:
      from = lane ^ int(b);
      fits = from <= most;
      break;
    case ShuffleMode::Index:
      from = least | int(b & ~segment);
      fits = from <= most;
      break;
    }
    if (!fits)
      from = lane;
    if (!(active >> from & 1))
      report(Fault::MissingLanes, op, l, [&] {
        return "lane " + std::to_string(lane) + " reads lane " +
               std::to_string(from) + ", which is not there";
      });
    values[l] = readLane<uint32_t>(op.a, from);
    inRange |= uint32_t(fits) << l;
  }
  for (unsigned l = 0; l < kLanes; ++l)
    if (active >> l & 1)
      std::memcpy(writeSlot(op.d) + l * 4, &values[l], 4);
  writeMask(op.target, inRange, active);
}

void Warp::vote(const Operation &op, uint32_t active) {
  uint32_t trues = readMask(op.c, op.negatesC) & active;
  switch (VoteMode(op.mode)) {
  case VoteMode::All:
    return writeMask(op.d, trues == active ? kAllLanes : 0, active);
  case VoteMode::Any:
    return writeMask(op.d, trues ? kAllLanes : 0, active);
  case VoteMode::Uni:
    return writeMask(op.d, trues == active || !trues ? kAllLanes : 0, active);
  case VoteMode::Ballot:
    for (unsigned l = 0; l < kLanes; ++l)
      if (active >> l & 1)
        std::memcpy(writeSlot(op.d) + l * 4, &trues, 4);
  }
}

void Warp::match(const Operation &op, uint32_t active) {
  unsigned bytes = bytesOf(op.type);
  uint32_t masks[kLanes];
  bool isAll = true;
  for (unsigned l = 0; l < kLanes; ++l) {
    masks[l] = 0;
    if (!(active >> l & 1))
      continue;
    uint64_t value = readBits(readSlot(op.a), bytes, l);
    for (unsigned other = 0; other < kLanes; ++other)
      if (active >> other & 1 &&
          readBits(readSlot(op.a), bytes, other) == value)
        masks[l] |= 1u << other;
    isAll &= masks[l] == active;
  }
  for (unsigned l = 0; l < kLanes; ++l)
    if (active >> l & 1) {
      uint32_t mask = op.mode ? (isAll ? active : 0) : masks[l];
      std::memcpy(writeSlot(op.d) + l * 4, &mask, 4);
    }
  if (op.mode)
    writeMask(op.c, isAll ? kAllLanes : 0, active);
}

void Warp::reduce(const Operation &op, uint32_t active) {
  bool isFirst = true;
  uint32_t result = 0;
  for (unsigned l = 0; l < kLanes; ++l) {
    if (!(active >> l & 1))
      continue;
    uint32_t value = readLane<uint32_t>(op.a, l);
    bool isLess = isSigned(op.type) ? int32_t(value) < int32_t(result)
                                    : value < result;
    if (isFirst) {
      result = value;
      isFirst = false;
      continue;
    }
    switch (AtomicOp(op.mode)) {
    case AtomicOp::Add:
      result += value;
      break;
    case AtomicOp::Min:
      result = isLess ? value : result;
      break;
    case AtomicOp::Max:
      result = isLess ? result : value;
      break;
    case AtomicOp::And:
      result &= value;
      break;
    case AtomicOp::Or:
      result |= value;
      break;
    default:
      result ^= value;
      break;
    }
  }
  for (unsigned l = 0; l < kLanes; ++l)
    if (active >> l & 1)
      std::memcpy(writeSlot(op.d) + l * 4, &result, 4);
}

void Warp::isSpace(const Operation &op, uint32_t active) {
  uint32_t mask = 0;
  for (unsigned l = 0; l < kLanes; ++l) {
    uint64_t address = readLane<uint64_t>(op.a, l);
    auto in = [&](uint64_t window) {
      return address - window < kWindowBytes;
    };
    bool isIn = op.space == Space::Shared  ? in(kSharedWindow)
                : op.space == Space::Local ? in(kLocalWindow)
                : op.space == Space::Param ? in(kParamWindow)
                                           : address < kSharedWindow;
    mask |= uint32_t(isIn) << l;
  }
  writeMask(op.d, mask, active);
}

/// ld.param and st.param. Those of a kernel are equal for all lanes.
void Warp::parameter(const Operation &op, uint32_t active) {
  Frame &current = frame();
  const Function &function = *current.function;
  const Slot *vector = function.vectors.data() + op.target;
  uint64_t own = function.isKernel ? function.interface.parameterBytes : 0;
  uint64_t size = function.paramBytes - own;
  unsigned bytes = bytesOf(op.type), all = bytes * op.vector;
  for (unsigned l = 0; l < kLanes; ++l) {
    if (!(active >> l & 1))
      continue;
    uint64_t address = op.offset;
    if (op.a != kNoSlot)
      address += op.addressIsNarrow ? readLane<uint32_t>(op.a, l)
                                    : readLane<uint64_t>(op.a, l);
    bool isOwn = address < own;
    uint64_t end = isOwn ? own : function.paramBytes;
    bool fits = address <= end && all <= end - address &&
                !(isOwn && op.kind == Kind::StoreParam);
    if (!fits || address % bytes)
      report(fits ? Fault::Misaligned : Fault::OutOfBounds, op, l, [&] {
        return std::to_string(all) + " bytes at offset " +
               std::to_string(address) + " of the parameters";
      });
    uint8_t *at = !fits    ? nullptr
                  : isOwn ? launch.params.data() + address
                          : current.params.data() + l * size + address - own;
    for (unsigned i = 0; i < op.vector; ++i) {
      if (op.kind == Kind::StoreParam) {
        if (at)
          std::memcpy(at + i * bytes,
                      readSlot(vector[i]) + l * op.registerBytes, bytes);
        continue;
      }
      uint64_t value = ~uint64_t(0);
      if (at) {
        value = 0;
        std::memcpy(&value, at + i * bytes, bytes);
        unsigned unused = 64 - 8 * bytes;
        if (isSigned(op.type))
          value = int64_t(value << unused) >> unused;
      }
      std::memcpy(writeSlot(vector[i]) + l * op.registerBytes, &value,
                  op.registerBytes);
    }
  }
}
