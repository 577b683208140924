//===- Memory.cpp - The buffers of a device -------------------------------===//

#include "runtime/emulated/Launch.h"

#include <algorithm>
#include <cstring>

using namespace dist;
using namespace dist::emulated;

// Beyond a buffer lies none: accesses a little outside are seen.
static constexpr uint64_t kAlignment = 256, kGap = 256;

bool Buffer::isWritten(uint64_t offset, uint64_t count) const {
  if (written.empty())
    return true;
  uint64_t word = offset / 64, bit = offset % 64;
  if (bit + count <= 64) {
    uint64_t mask = (count == 64 ? ~uint64_t(0) : (uint64_t(1) << count) - 1)
                    << bit;
    return (written[word] & mask) == mask;
  }
  for (; count; ++offset, --count)
    if (!(written[offset / 64] >> (offset % 64) & 1))
      return false;
  return true;
}

void Buffer::setWritten(uint64_t offset, uint64_t count, bool isSet) {
  if (written.empty()) {
    if (isSet)
      return;
    written.assign((bytes + 63) / 64, ~uint64_t(0));
  }
  for (; count && offset % 64; ++offset, --count) {
    uint64_t bit = uint64_t(1) << (offset % 64);
    written[offset / 64] =
        isSet ? written[offset / 64] | bit : written[offset / 64] & ~bit;
  }
  for (; count >= 64; offset += 64, count -= 64)
    written[offset / 64] = isSet ? ~uint64_t(0) : 0;
  for (; count; ++offset, --count) {
    uint64_t bit = uint64_t(1) << (offset % 64);
    written[offset / 64] =
        isSet ? written[offset / 64] | bit : written[offset / 64] & ~bit;
  }
}

Memory::Memory(uint64_t base) : base(base) {}

Memory::~Memory() {
  for (auto &[address, buffer] : buffers)
    std::free(buffer->allocation);
}

void Memory::add(void *data, uint64_t bytes, const std::string &name,
                 bool isWritten) {
  uint64_t address = addressOf(data);
  auto after = buffers.lower_bound(address);
  bool overlaps = after != buffers.end() && after->first < address + bytes;
  if (after != buffers.begin()) {
    const Buffer &before = *std::prev(after)->second;
    overlaps |= std::prev(after)->first + before.bytes > address;
  }
  if (overlaps || !bytes)
    throw Error("the buffer '" + name + "' of " + std::to_string(bytes) +
                " bytes " + (bytes ? "overlaps another one" : "is empty"));
  auto buffer = std::make_unique<Buffer>();
  buffer->data = static_cast<uint8_t *>(data);
  buffer->address = address;
  buffer->bytes = bytes;
  buffer->name = name;
  if (!isWritten)
    buffer->setWritten(0, bytes, false);
  buffers[address] = std::move(buffer);
}

void *Memory::allocate(uint64_t bytes, const std::string &name) {
  if (!bytes)
    throw Error("the buffer '" + name + "' has no bytes");
  uint64_t padded =
      (bytes + kAlignment - 1) / kAlignment * kAlignment + 2 * kGap;
  void *allocation =
      padded > bytes ? std::aligned_alloc(kAlignment, padded) : nullptr;
  if (!allocation)
    throw Error("no memory for the buffer '" + name + "' of " +
                std::to_string(bytes) + " bytes");
  std::memset(allocation, 0xff, padded);
  uint8_t *data = static_cast<uint8_t *>(allocation) + kGap;
  try {
    add(data, bytes, name, false);
  } catch (...) {
    std::free(allocation);
    throw;
  }
  uint64_t address = addressOf(data);
  buffers[address]->allocation = allocation;
  return reinterpret_cast<void *>(address);
}

void Memory::remove(const void *data) {
  auto it = buffers.find(reinterpret_cast<uint64_t>(data));
  if (it == buffers.end())
    throw Error("no buffer begins at the address that is to be freed");
  std::free(it->second->allocation);
  buffers.erase(it);
}

const Buffer *Memory::below(uint64_t address) const {
  auto it = buffers.upper_bound(address);
  return it == buffers.begin() ? nullptr : std::prev(it)->second.get();
}

Buffer *Memory::find(uint64_t address, uint64_t bytes) const {
  auto it = buffers.upper_bound(address);
  if (it == buffers.begin())
    return nullptr;
  const auto &[start, buffer] = *std::prev(it);
  uint64_t offset = address - start;
  return offset <= buffer->bytes && bytes <= buffer->bytes - offset
             ? buffer.get()
             : nullptr;
}

Buffer &Memory::owner(const void *data, uint64_t bytes) const {
  Buffer *buffer = find(reinterpret_cast<uint64_t>(data), bytes);
  if (!buffer)
    throw Error(std::to_string(bytes) + " bytes lie in no buffer");
  return *buffer;
}

void Memory::setWritten(const void *data, uint64_t bytes, bool isWritten) {
  Buffer &buffer = owner(data, bytes);
  buffer.setWritten(reinterpret_cast<uint64_t>(data) - buffer.address, bytes,
                    isWritten);
}

uint64_t Memory::countUnwritten(const void *data, uint64_t bytes) const {
  const Buffer &buffer = owner(data, bytes);
  uint64_t offset = reinterpret_cast<uint64_t>(data) - buffer.address;
  uint64_t count = 0;
  if (!buffer.written.empty())
    for (uint64_t i = 0; i < bytes; ++i)
      count += !buffer.isWritten(offset + i, 1);
  return count;
}

uint64_t Memory::findUnwritten(const void *data, uint64_t bytes) const {
  const Buffer &buffer = owner(data, bytes);
  uint64_t offset = reinterpret_cast<uint64_t>(data) - buffer.address;
  for (uint64_t i = 0; i < bytes && !buffer.written.empty(); ++i)
    if (!buffer.isWritten(offset + i, 1))
      return i;
  return bytes;
}
