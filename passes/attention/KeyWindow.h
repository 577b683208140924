//===- KeyWindow.h - The keys that queries may look at ----------*- C++ -*-===//
//
// Masks that hang on places alone, whether computed or constant, may leave each
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

/// What dist.attention has for `window`.
struct KeyWindow {
  int64_t left, right;
};

/// Finds windows. The layers of a model mostly have one mask, which is looked
/// at once.
class KeyWindows {
public:
  /// The least window on which alone the results hang, if some key is outside
  /// of it on the left and on the right of some query. Keys outside must have
  /// no weight: their x must be -inf, or else some key in the window must
  /// surely be seen. (A row of which data masks all keys with the least number,
  /// rather than with -inf, is the mean of all values.)
  std::optional<KeyWindow> find(AttentionOp op);

  /// Of queries and keys in so many blocks each, the last ones shorter where
  /// they are not divided evenly: for each half of a block of queries, which
  /// blocks of keys may have a weight beside one that is not masked.
  std::vector<bool> findSeenBlocks(AttentionOp op, int64_t blocks);

private:
  using Key = std::vector<const void *>;
  /// By all that the window hangs on.
  std::map<Key, std::optional<KeyWindow>> known;
  std::map<std::pair<Key, int64_t>, std::vector<bool>> knownBlocks;
};
} // namespace mlir::dist

#endif // DIST_PASSES_ATTENTION_KEYWINDOW_H
