//===- AttentionBlocks.cpp - Which tiles an attention needs ---------------===//

#include "lowering/kernels/AttentionBlocks.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace mlir::dist;

AttentionBlocks::AttentionBlocks(AttentionLikeOpInterface op, int64_t queries,
                                 int64_t keys)
    : largestSkipped(-std::numeric_limits<double>::infinity()) {
  SmallVector<int64_t> sizes = op.getDimSizes();
  int64_t numQueries = sizes[op.getQueryDim()];
  int64_t numKeys = sizes[op.getKeyDim()];
  int64_t columns = llvm::divideCeil(numKeys, keys);
  bool hasConditions = !getConditions(op).empty();
  for (int64_t first = 0; first < numQueries; first += queries) {
    int64_t last = std::min(first + queries, numQueries) - 1;
    NeededTiles row = {columns, columns, 0, 0};
    bool anyNeeded = false;
    for (int64_t column = 0; hasConditions && column < columns; ++column) {
      ScoreFacts facts = getScoreFacts(
          op, {first, last},
          {column * keys, std::min((column + 1) * keys, numKeys) - 1});
      if (!facts.x.isNan && facts.x.high <= kNegligibleScore) {
        largestSkipped = std::max(largestSkipped, facts.x.high);
        continue;
      }
      if (!anyNeeded)
        row.start = column;
      anyNeeded = true;
      row.end = column + 1;
      if (!llvm::all_of(facts.conditions,
                        [](std::optional<bool> known) { return bool(known); }))
        continue;
      SmallVector<bool> conditions;
      for (std::optional<bool> known : facts.conditions)
        conditions.push_back(*known);
      if (plainConditions.empty())
        plainConditions = conditions;
      if (conditions != plainConditions)
        continue;
      if (row.plainEnd == 0)
        row.plainStart = row.plainEnd = column;
      if (row.plainEnd == column)
        ++row.plainEnd;
    }
    // Of nothing there is no mean.
    if (!anyNeeded) {
      row.start = 0;
      row.end = columns;
    }
    skips |= row.start > 0 || row.end < columns;
    rows.push_back(row);
  }
}
