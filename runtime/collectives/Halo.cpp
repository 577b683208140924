//===- Halo.cpp - Halos in shared memory ----------------------------------===//

#include "runtime/collectives/Halo.h"
#include "dist/Tensor.h"
#include "runtime/collectives/Reduce.h"

#include <algorithm>
#include <cstring>

using namespace dist;

namespace {

/// Rows of a dimension: [start, end).
struct Range {
  int64_t start, end;
};

/// Rows that lie in the block of one member and in the window of another.
struct Piece {
  int64_t inBlock, inWindow, count;
};

/// Where windows lie.
class Windows {
public:
  Windows(const CollectiveCall &call, const Communicator &comm)
      : call(call), comm(comm), rows(blockRows(comm.sizes, call.whole)) {}

  bool isRing() const { return call.boundary == DIST_BOUNDARY_PERIODIC; }
  int64_t blockSize() const { return rows; }
  int64_t windowSize() const { return call.low + rows + call.high; }
  /// The rows of the dimension that a window holds. That of a ring ends with
  /// the halo of what is no padding.
  Range windowOf(int64_t member) const {
    Block block = blockAt(comm.sizes, call.whole, member);
    int64_t start = block.start - call.low;
    if (!isRing())
      return {start, start + windowSize()};
    return {start, block.valid ? block.start + block.valid + call.high : start};
  }
  /// The part of the block of `owner` in the window of a member; several pieces
  /// if it goes around a ring.
  std::vector<Piece> piecesOf(Range window, int64_t owner) const;

private:
  const CollectiveCall &call;
  const Communicator &comm;
  int64_t rows;
};

} // namespace

std::vector<Piece> Windows::piecesOf(Range window, int64_t owner) const {
  Block block = blockAt(comm.sizes, call.whole, owner);
  std::vector<Piece> pieces;
  auto add = [&](int64_t blockStart) {
    int64_t first = std::max(window.start, blockStart);
    int64_t last = std::min(window.end, blockStart + block.valid);
    if (first < last)
      pieces.push_back(
          {first - blockStart, first - window.start, last - first});
  };
  if (!isRing()) {
    add(block.start);
    return pieces;
  }
  // Rounds that end before the window begins need not be looked at.
  int64_t rounds = call.low / std::max<int64_t>(call.whole, 1) + 1;
  if (block.valid != 0)
    for (int64_t start = block.start - rounds * call.whole; start < window.end;
         start += call.whole)
      add(start);
  return pieces;
}

/// Sets rows [from, to) of out [outer, rows, inner] to an element.
static void fillRows(const CollectiveCall &call, char *out, int64_t rows,
                     int64_t from, int64_t to) {
  int64_t bytes = dtypeBytes(call.dtype);
  int64_t fill = call.boundary == DIST_BOUNDARY_CONSTANT ? call.fill : 0;
  for (int64_t o = 0; o < call.outer && from < to; ++o) {
    char *row = out + (o * rows + from) * call.inner * bytes;
    int64_t count = (to - from) * call.inner;
    if (fill == 0)
      std::memset(row, 0, count * bytes);
    else
      for (int64_t i = 0; i < count; ++i)
        std::memcpy(row + i * bytes, &fill, bytes);
  }
}

void dist::haloExchange(const CollectiveCall &call, const Communicator &comm,
                        const GroupBuffers &buffers, int64_t me) {
  Windows windows(call, comm);
  int64_t rowBytes = call.inner * dtypeBytes(call.dtype);
  int64_t rows = windows.blockSize(), wide = windows.windowSize();
  Range window = windows.windowOf(me);
  char *out = buffers.outs[me];
  if (windows.isRing()) {
    fillRows(call, out, wide, window.end - window.start, wide);
  } else if (call.boundary != DIST_BOUNDARY_NONE) {
    fillRows(call, out, wide, 0, std::clamp<int64_t>(-window.start, 0, wide));
    fillRows(call, out, wide,
             std::clamp<int64_t>(call.whole - window.start, 0, wide), wide);
  }
  for (int64_t owner = 0; owner < comm.size; ++owner)
    for (Piece piece : windows.piecesOf(window, owner))
      for (int64_t o = 0; o < call.outer; ++o)
        std::memcpy(out + (o * wide + piece.inWindow) * rowBytes,
                    buffers.ins[owner] + (o * rows + piece.inBlock) * rowBytes,
                    piece.count * rowBytes);
}

namespace {
/// A piece of the window of a member.
struct Summand {
  int64_t member;
  Piece piece;
};
} // namespace

/// What is added up in the block of `me`: its own rows, then others' by place.
static std::vector<Summand> findSummands(const Windows &windows, int64_t size,
                                         int64_t low, int64_t me) {
  std::vector<Summand> summands;
  for (int64_t member = 0; member < size; ++member) {
    Range window = windows.windowOf(member);
    for (Piece piece : windows.piecesOf(window, me))
      summands.push_back({member, piece});
  }
  auto own = std::find_if(
      summands.begin(), summands.end(), [&](const Summand &summand) {
        const Piece &piece = summand.piece;
        return summand.member == me && piece.inWindow == low + piece.inBlock;
      });
  if (own != summands.end())
    std::rotate(summands.begin(), own, own + 1);
  return summands;
}

void dist::haloReduce(const CollectiveCall &call, const Communicator &comm,
                      const GroupBuffers &buffers, int64_t me) {
  Windows windows(call, comm);
  int64_t rowBytes = call.inner * dtypeBytes(call.dtype);
  int64_t rows = windows.blockSize(), wide = windows.windowSize();
  std::vector<Summand> summands =
      findSummands(windows, comm.size, call.low, me);
  // Between two of these the same pieces are added.
  std::vector<int64_t> borders;
  for (const Summand &summand : summands) {
    borders.push_back(summand.piece.inBlock);
    borders.push_back(summand.piece.inBlock + summand.piece.count);
  }
  std::sort(borders.begin(), borders.end());
  borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
  for (size_t i = 0; i + 1 < borders.size(); ++i) {
    int64_t first = borders[i], count = borders[i + 1] - first;
    for (int64_t o = 0; o < call.outer; ++o) {
      std::vector<const char *> ins;
      for (const auto &[member, piece] : summands)
        if (piece.inBlock <= first && first < piece.inBlock + piece.count)
          ins.push_back(buffers.ins[member] +
                        (o * wide + piece.inWindow + first - piece.inBlock) *
                            rowBytes);
      reduceBuffers(call.dtype, DIST_SUM, ins,
                    {buffers.outs[me] + (o * rows + first) * rowBytes},
                    count * call.inner);
    }
  }
  int64_t valid = blockAt(comm.sizes, call.whole, me).valid;
  fillRows(call, buffers.outs[me], rows, valid, rows);
}
