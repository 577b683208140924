//===- AttentionBlocks.h - Which tiles an attention needs -------*- C++ -*-===//
//
// Masks that hang on places alone say which keys some queries need. Those are
// covered by few tiles, which begin where keys are needed. Where devices hold
// different queries, masks hang on the devices' coordinates, too: then each
// coordinate has its own tiles.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_KERNELS_ATTENTIONBLOCKS_H
#define DIST_LOWERING_KERNELS_ATTENTIONBLOCKS_H

#include "lowering/kernels/ExpandAttention.h"
#include "passes/attention/ScoreRange.h"

namespace mlir::dist {

/// Neighbouring tiles of one kind, from the key `start` on.
struct KeyTiles {
  int64_t start, count, kind;
  bool operator==(const KeyTiles &) const = default;
};

/// Keys of a tile; in a plain one the conditions of the body are constant.
struct KeyTileKind {
  int64_t keys;
  bool isPlain;
  bool operator==(const KeyTileKind &) const = default;
};

/// A device's place in a group, which the body of an attention hangs on.
struct Coordinate {
  Value place;
  int64_t size;
};

/// The tiles of an attention, by masks that hang on places alone.
class AttentionBlocks {
public:
  AttentionBlocks(AttentionLikeOpInterface op, const AttentionTiles &tiles,
                  int64_t queries);

  /// Those of so many queries a tile that take the least time.
  static AttentionBlocks getFastest(AttentionLikeOpInterface op,
                                    const AttentionTiles &tiles);

  /// Queries of a tile; the last may have fewer.
  int64_t queries;
  SmallVector<KeyTileKind> kinds;
  /// The first `numAll` are all keys.
  SmallVector<KeyTiles> tiles;
  int64_t numAll = 0;
  /// Of each coordinate, the first slowest, and each tile of queries: the first
  /// of `tiles`, and the one after the last.
  SmallVector<std::pair<int64_t, int64_t>> rows;
  SmallVector<Coordinate> coordinates;
  /// Whether there are keys that are not needed.
  bool skips = false;
  /// At least the largest x of those.
  double largestSkipped;
  /// What the conditions are in plain tiles; empty where there are none.
  SmallVector<bool> plainConditions;
  /// Of all rows and coordinates, ns.
  double time = 0;
  /// Tiles in a row, at most.
  int64_t mostTiles = 0;

private:
  /// Keys that are needed, and of those some, all or none, in which the
  /// conditions are constant.
  struct Run {
    int64_t start, end;
    int64_t plainStart, plainEnd;
  };
  using Runs = SmallVector<Run>;

  /// Adds what is needed of the granules from `first` on, before `last`.
  void findRuns(std::pair<int64_t, int64_t> ofQueries, int64_t first,
                int64_t last, ArrayRef<KnownInteger> known, Runs &runs);
  /// Whether a condition is known at one place that is not of all those of
  /// `facts`. Others hang on what is not known, however few places there are.
  bool isKnownAtPlaces(int64_t query, int64_t key, const ScoreFacts &facts,
                       ArrayRef<KnownInteger> known);
  void addRow(ArrayRef<Run> runs);
  /// Tiles of [start, end) between keys that others cover.
  SmallVector<KeyTiles> cover(int64_t start, int64_t end, int64_t low,
                              int64_t high);
  /// The same of a run, some of them plain.
  SmallVector<KeyTiles> coverRun(const Run &run, int64_t low, int64_t high);
  int64_t getKind(int64_t keys, bool isPlain);
  double getTime(ArrayRef<KeyTiles> ofRow);
  void findCoordinates();

  AttentionLikeOpInterface op;
  AttentionTiles limits;
  SmallVector<int64_t> sizes;
  int64_t numKeys;
  /// Of the current tile of queries.
  int64_t splitsLeft = 0;
};

} // namespace mlir::dist

#endif // DIST_LOWERING_KERNELS_ATTENTIONBLOCKS_H
