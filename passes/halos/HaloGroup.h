//===- HaloGroup.h - Levels of a chain that exchange once -------*- C++ -*-===//
//
// Where the exchanges of levels that follow each other are one, those of the
// first level bring the rows of all. How many more rows of each value that
// takes is found from the last ops to the first. When a level before is taken
// in, the walk goes on where it ended, so that of groups with one last level
// each costs what its first level has. What a group would be if it grew no more
// is tried out from there, and undone.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_HALOS_HALOGROUP_H
#define DIST_PASSES_HALOS_HALOGROUP_H

#include "passes/halos/HaloChains.h"
#include "llvm/ADT/SetVector.h"
#include <queue>

namespace mlir::dist {

/// Levels of a chain that are joined: the exchanges of the first bring the rows
/// of all.
struct JoinedHalos {
  SmallVector<unsigned> heads, joined;
  /// Rows that heads bring, in all; of those whose rows are read.
  llvm::MapVector<unsigned, Widths> brought;
  /// By how much wider the results of joined exchanges are.
  llvm::MapVector<unsigned, Widths> wider;
  /// What is computed of more rows, last things first.
  llvm::MapVector<Rows, Widths> computed;
  /// Rows that an exchange which is no part of this has brought.
  llvm::MapVector<Rows, unsigned> taken;
  /// For rows of a head's operand that are read beside it: where first.
  llvm::SmallDenseMap<unsigned, int64_t> firstReads;
  /// Seconds more than apart: of what is computed twice and of exchanges that
  /// are gone, and of those that bring more.
  double seconds = 0, headSeconds = 0;
  /// Bytes more than apart; rows of joined exchanges that two devices compute.
  int64_t bytes = 0, rowsTwice = 0;

  double getSeconds() const { return seconds + headSeconds; }
};

class HaloGroup {
public:
  /// The last level alone.
  HaloGroup(HaloChains &chains, unsigned chain, unsigned last)
      : HaloGroup(chains, chain, last, last, /*mayGrow=*/true) {}
  /// Levels `first` to `last`; none where that is not possible.
  static std::optional<JoinedHalos> join(HaloChains &chains, unsigned chain,
                                         unsigned first, unsigned last);

  /// Takes in the level before the first.
  void extend();
  /// Whether the levels can be one.
  bool isPossible() const;
  /// Whether no larger group can be, either.
  bool isAtEnd() const { return isDead || isFarTooWide(); }
  /// Whether what is known of the group holds only if it grows: an AsItIs says
  /// what is so of it as it is.
  bool isUncertain() const { return isUnknown; }
  const JoinedHalos &get() const { return out; }

  /// While there is one, its group does not grow.
  class AsItIs;

private:
  HaloGroup(HaloChains &chains, unsigned chain, unsigned first, unsigned last,
            bool mayGrow);
  struct Wanted {
    Widths widths;
    int64_t firstRead;
    bool isQueued = false;
    /// As many were seen to.
    std::optional<Widths> done = {};
  };
  using Item = std::pair<int64_t, Rows>;
  struct IsBefore {
    bool operator()(const Item &a, const Item &b) const {
      return a.first < b.first;
    }
  };

  void want(Rows rows, Widths widths, int64_t reader);
  void queue(Rows rows, Wanted &need);
  /// Before it is changed, so that this can be undone.
  void note(Rows rows);
  void joinLevel(unsigned level);
  void queueWaiting();
  void walk();
  void visit(Rows rows);
  void visitExchange(unsigned number, Rows rows, const Wanted &need);
  /// Whether an exchange brings the rows, or may once the group has grown.
  bool visitSource(Rows rows, const Wanted &need);
  void compute(Rows rows, const Wanted &need);
  void bring(unsigned head, Widths widths);
  bool isHead(unsigned number) const;
  bool isJoined(unsigned number) const;
  bool isFarTooWide() const;
  void countBytes();

  HaloChains &chains;
  unsigned chain, first, last;
  bool mayGrow;
  JoinedHalos out;
  llvm::DenseMap<Rows, Wanted> wanted;
  std::priority_queue<Item, std::vector<Item>, IsBefore> todo;
  /// What becomes of these hangs on the first level.
  llvm::SetVector<Rows> waiting;
  /// Rows are made of what is no row, or of those of an exchange before the
  /// group.
  bool isDead = false, isMissing = false;
  /// Rows may be brought when the group has grown, and are computed if not.
  bool isUnknown = false;
  /// What was wanted before something is tried out; null where nothing is.
  using Journal = SmallVector<std::pair<Rows, std::optional<Wanted>>>;
  Journal *journal = nullptr;
};

class HaloGroup::AsItIs {
public:
  explicit AsItIs(HaloGroup &group);
  ~AsItIs();

private:
  HaloGroup &group;
  Journal journal;
  llvm::MapVector<unsigned, Widths> brought;
  llvm::MapVector<Rows, unsigned> taken;
  llvm::SmallDenseMap<unsigned, int64_t> firstReads;
  llvm::SetVector<Rows> waiting;
  double seconds, headSeconds;
  int64_t rowsTwice;
  bool isDead, isMissing, isUnknown;
};

} // namespace mlir::dist

#endif // DIST_PASSES_HALOS_HALOGROUP_H
