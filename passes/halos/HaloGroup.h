//===- HaloGroup.h - Levels that share one exchange -------------*- C++ -*-===//
//
// If the exchanges of consecutive levels become one, those of the first level
// bring the rows of all. The number of additional rows of each value is found
// from the last ops to the first. When an earlier level is added, the walk
// continues where it ended. So all groups with the same last level together
// cost only one walk. The cost of a group that does not grow any more is found
// from there, and undone.
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
  /// Rows that heads bring, in all, by the value whose rows are read.
  llvm::MapVector<unsigned, Widths> brought;
  /// How much wider the results of joined exchanges are.
  llvm::MapVector<unsigned, Widths> wider;
  /// Ops that compute more rows, last ones first.
  llvm::MapVector<Rows, Widths> computed;
  /// Rows that an exchange outside of the group has brought.
  llvm::MapVector<Rows, unsigned> taken;
  /// For rows of a head's operand that are read beside it: the first reader.
  llvm::SmallDenseMap<unsigned, int64_t> firstReads;
  /// Additional seconds, compared with separate exchanges: rows that are
  /// computed twice, and exchanges that are removed or bring more rows.
  double seconds = 0, headSeconds = 0;
  /// Additional bytes; rows of joined exchanges that two devices compute.
  int64_t bytes = 0, rowsTwice = 0;

  double getSeconds() const { return seconds + headSeconds; }
};

class HaloGroup {
public:
  /// The last level alone.
  HaloGroup(HaloChains &chains, unsigned chain, unsigned last)
      : HaloGroup(chains, chain, last, last, /*mayGrow=*/true) {}
  /// Levels `first` to `last`; empty if that is not possible.
  static std::optional<JoinedHalos> join(HaloChains &chains, unsigned chain,
                                         unsigned first, unsigned last);

  /// Adds the level before the first.
  void extend();
  /// Whether the levels can be one.
  bool isPossible() const;
  /// Whether no larger group is possible, either.
  bool isAtEnd() const { return isDead || isFarTooWide(); }
  /// Whether the costs are lower bounds that hold only if the group grows. An
  /// AsItIs gives the costs without growing.
  bool isUncertain() const { return isUnknown; }
  const JoinedHalos &get() const { return out; }

  /// While an AsItIs exists, its group does not grow.
  class AsItIs;

private:
  HaloGroup(HaloChains &chains, unsigned chain, unsigned first, unsigned last,
            bool mayGrow);
  struct Wanted {
    Widths widths;
    int64_t firstRead;
    bool isQueued = false;
    /// So many were visited.
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
  /// The state before a change, to undo it.
  void note(Rows rows);
  void joinLevel(unsigned level);
  void queueWaiting();
  void walk();
  void visit(Rows rows);
  void visitExchange(unsigned number, Rows rows, const Wanted &need);
  /// Whether an exchange brings the rows, or may do so once the group has
  /// grown.
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
  /// The treatment of these depends on the first level.
  llvm::SetVector<Rows> waiting;
  /// Rows are needed that are not computed from rows, or that only an exchange
  /// before the group brings.
  bool isDead = false, isMissing = false;
  /// The rows may be brought once the group has grown; otherwise they are
  /// computed.
  bool isUnknown = false;
  /// The requirement before a trial; null if there was none.
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
