//===- Strategies.h - Strategies of sharding an attention -------*- C++ -*-===//

#ifndef DIST_PASSES_REPORT_STRATEGIES_H
#define DIST_PASSES_REPORT_STRATEGIES_H

#include "passes/attention/KeyWindow.h"
#include "passes/report/Report.h"

namespace mlir::dist {

enum class AttentionStrategy {
  Halo,
  HaloOfInput,
  Gathered,
  Ring,
  Zigzag,
  Heads
};

/// The numbers that all strategies of sharding an attention are estimated from.
/// It starts with those of a device's own attention, with sharded queries.
class Strategies {
public:
  Strategies(AttentionOp op, ArrayRef<AxisRefAttr> axes, int64_t count);

  /// The program's strategy, and the bytes of its collectives.
  void choose(AttentionStrategy way, std::optional<int64_t> bytes) {
    chosen = way;
    sent = bytes;
  }

  /// For an attention with all queries, and `here` of `all` heads: as if a
  /// device had some queries, and all heads.
  void takeAllHeads(int64_t all, int64_t here);

  /// All strategies, of which one is chosen.
  AttentionUse list();

  /// Number of devices; queries and keys of each.
  int64_t p, rows, blockKeys;
  /// FLOP of a pair of a query and a key, over all batches.
  int64_t work;
  /// Heads of the keys: the dimension with the most heads.
  int64_t heads = 1;
  /// Bytes of one key and its value; bytes of one query; bytes of its result.
  /// In zigzag: bytes of a query and the results that are sent back, and of
  /// further operands of a query's scores.
  int64_t keyBytes, queryBytes, resultBytes, mirrorBytes, extraBytes = 0;
  /// For each half of a device's queries: the blocks of keys that masks do not
  /// exclude (KeyWindows::findSeenBlocks).
  SmallVector<bool> seen;
  /// Number of keys around a query, if masks allow only these.
  std::optional<KeyWindow> window;

private:
  void add(AttentionStrategy way, std::string name, int64_t bytes,
           int64_t flops, std::string problem = {});
  std::pair<int64_t, int64_t> countSeen() const;

  AttentionOp op;
  AttentionUse use;
  AttentionStrategy chosen = AttentionStrategy::Gathered;
  std::optional<int64_t> sent;
};

/// Bytes of one index of a dimension of a tensor.
int64_t getBytesOfRow(Value tensor, int64_t dim);

/// For the attentions, usually in linalg, whose keys and values are gathered,
/// or whose heads are sharded by all-to-alls: each with its function.
std::vector<std::pair<Operation *, AttentionUse>>
findAttentionUses(ModuleOp module);

} // namespace mlir::dist

#endif // DIST_PASSES_REPORT_STRATEGIES_H
