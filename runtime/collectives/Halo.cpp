//===- Halo.cpp - Which rows of a halo are whose --------------------------===//

#include "runtime/collectives/Halo.h"
#include "dist/Tensor.h"

#include <algorithm>

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

void dist::fillHalo(const CollectiveCall &call, const Communicator &comm,
                    int64_t me, char *out, OperandMemory &memory) {
  Windows windows(call, comm);
  int64_t wide = windows.windowSize();
  Range window = windows.windowOf(me);
  int64_t bytes = call.inner * dtypeBytes(call.dtype);
  int64_t fill = call.boundary == DIST_BOUNDARY_CONSTANT ? call.fill : 0;
  // Rows [from, to) of out [outer, wide, inner].
  auto fillRows = [&](int64_t from, int64_t to) {
    if (from < to)
      memory.fill(call.dtype, fill, {out + from * bytes, wide * bytes},
                  call.outer, (to - from) * call.inner);
  };
  if (windows.isRing()) {
    fillRows(window.end - window.start, wide);
  } else if (call.boundary != DIST_BOUNDARY_NONE) {
    fillRows(0, std::clamp<int64_t>(-window.start, 0, wide));
    fillRows(std::clamp<int64_t>(call.whole - window.start, 0, wide), wide);
  }
}

std::vector<Copy> dist::findHaloCopies(const CollectiveCall &call,
                                       const Communicator &comm, int64_t from,
                                       int64_t to) {
  Windows windows(call, comm);
  int64_t rowBytes = call.inner * dtypeBytes(call.dtype);
  int64_t block = windows.blockSize() * rowBytes,
          window = windows.windowSize() * rowBytes;
  bool isSum = call.kind == CollectiveKind::HaloReduce;
  std::vector<Copy> copies;
  // The member with the window takes rows of the owner, or gives them back.
  for (Piece piece : windows.piecesOf(windows.windowOf(isSum ? from : to),
                                      isSum ? to : from)) {
    int64_t inBlock = piece.inBlock * rowBytes,
            inWindow = piece.inWindow * rowBytes;
    Copy::Loop outer{call.outer, isSum ? window : block,
                     isSum ? block : window};
    copies.push_back({isSum ? inWindow : inBlock,
                      isSum ? inBlock : inWindow,
                      {{outer, {}, {}}},
                      piece.count * rowBytes});
  }
  return copies;
}
