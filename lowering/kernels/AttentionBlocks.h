//===- AttentionBlocks.h - Tiles that an attention needs --------*- C++ -*-===//
//
// Masks that depend only on positions tell which keys some queries need. These
// are covered by few tiles, which begin at needed keys. If devices hold
// different queries, masks depend on the devices' coordinates, too: then each
// coordinate has its own tiles.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_KERNELS_ATTENTIONBLOCKS_H
#define DIST_LOWERING_KERNELS_ATTENTIONBLOCKS_H

#include "lowering/kernels/ExpandAttention.h"
#include "passes/attention/ScoreRange.h"

namespace mlir::dist {

/// Consecutive tiles of one kind, from the key `start` on.
struct KeyTiles {
  int64_t start, count, kind;
  bool operator==(const KeyTiles &) const = default;
};

/// Keys of a tile. In a plain tile the conditions of the body are constant.
struct KeyTileKind {
  int64_t keys;
  bool isPlain;
  bool operator==(const KeyTileKind &) const = default;
};

/// A device's index in a group, which the body of an attention depends on.
struct Coordinate {
  Value place;
  int64_t size;
};

/// The tiles of an attention, from masks that depend only on positions.
class AttentionBlocks {
public:
  AttentionBlocks(AttentionLikeOpInterface op, const AttentionTiles &tiles,
                  int64_t queries);

  /// The tiles for the number of queries in a tile that takes the least time.
  static AttentionBlocks getFastest(AttentionLikeOpInterface op,
                                    const AttentionTiles &tiles);

  /// Queries of a tile; the last may have fewer.
  int64_t queries;
  SmallVector<KeyTileKind> kinds;
  /// The first `numAll` tiles cover all keys.
  SmallVector<KeyTiles> tiles;
  int64_t numAll = 0;
  /// For each coordinate (the first varies slowest) and each tile of queries:
  /// the first of `tiles`, and the one after the last.
  SmallVector<std::pair<int64_t, int64_t>> rows;
  SmallVector<Coordinate> coordinates;
  /// Whether there are keys that are not needed.
  bool skips = false;
  /// A lower bound for the largest x of the others.
  double largestSkipped;
  /// The values of the conditions in plain tiles; empty if there are no plain
  /// tiles.
  SmallVector<bool> plainConditions;
  /// Time for all rows and coordinates, ns.
  double time = 0;
  /// The most tiles in a row.
  int64_t mostTiles = 0;

private:
  /// Keys that are needed, and those of them in which the conditions are
  /// constant: some, all or none.
  struct Run {
    int64_t start, end;
    int64_t plainStart, plainEnd;
  };
  using Runs = SmallVector<Run>;

  /// Adds the needed ones of the granules from `first` on, before `last`.
  void findRuns(std::pair<int64_t, int64_t> ofQueries, int64_t first,
                int64_t last, ArrayRef<KnownInteger> known, Runs &runs);
  /// Whether a condition has a known value at one position that it does not
  /// have at all positions of `facts`. Other conditions depend on unknown
  /// values, for any number of positions.
  bool isKnownAtPlaces(int64_t query, int64_t key, const ScoreFacts &facts,
                       ArrayRef<KnownInteger> known);
  void addRow(ArrayRef<Run> runs);
  /// Tiles of [start, end) between keys that others cover.
  SmallVector<KeyTiles> cover(int64_t start, int64_t end, int64_t low,
                              int64_t high);
  /// The same for a run, some of them plain.
  SmallVector<KeyTiles> coverRun(const Run &run, int64_t low, int64_t high);
  int64_t getKind(int64_t keys, bool isPlain);
  double getTime(ArrayRef<KeyTiles> ofRow);
  void findCoordinates();

  AttentionLikeOpInterface op;
  AttentionTiles limits;
  SmallVector<int64_t> sizes;
  int64_t numKeys;
  /// For the current tile of queries.
  int64_t splitsLeft = 0;
};

} // namespace mlir::dist

#endif // DIST_LOWERING_KERNELS_ATTENTIONBLOCKS_H
