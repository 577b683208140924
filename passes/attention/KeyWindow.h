//===- KeyWindow.h - The keys that queries may look at ----------*- C++ -*-===//
//
// Masks that depend only on positions, computed or constant, may leave each
// query a few keys around it (sliding window attention; Beltagy et al.,
// "Longformer", 2020).
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_ATTENTION_KEYWINDOW_H
#define DIST_PASSES_ATTENTION_KEYWINDOW_H

#include "dialects/dist/IR/Attention.h"
#include <map>
#include <vector>

namespace mlir::dist {

/// The attribute `window` of dist.attention.
struct KeyWindow {
  int64_t left, right;
};

/// Finds windows. The layers of a model usually have the same mask, which is
/// analyzed only once.
class KeyWindows {
public:
  /// The smallest window that the results depend on, if keys are outside of it
  /// on the left and on the right of some query. With `largest`, no score is
  /// larger than that, and no row is masked all over.
  ///
  /// Keys outside must have no weight: either their x is -inf, or some key in
  /// the window is surely visible. (If data mask all keys of a row with the
  /// smallest number, the row is the mean of all values.) A mask of another
  /// number hides keys if the body limits the range of scores.
  std::optional<KeyWindow> find(AttentionOp op,
                                std::optional<double> largest = {});

  /// For queries and keys in so many blocks each; the last blocks are shorter
  /// if sizes are not divided evenly. For each half of a block of queries:
  /// which blocks of keys may have a weight beside an unmasked one.
  std::vector<bool> findSeenBlocks(AttentionOp op, int64_t blocks);

private:
  using Key = std::vector<const void *>;
  /// By all that the window depends on.
  std::map<std::pair<Key, std::optional<double>>, std::optional<KeyWindow>>
      known;
  std::map<std::pair<Key, int64_t>, std::vector<bool>> knownBlocks;
};
} // namespace mlir::dist

#endif // DIST_PASSES_ATTENTION_KEYWINDOW_H
