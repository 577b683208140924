//===- Strategies.h - Ways to share out an attention ------------*- C++ -*-===//

#ifndef DIST_PASSES_REPORT_STRATEGIES_H
#define DIST_PASSES_REPORT_STRATEGIES_H

#include "passes/attention/KeyWindow.h"
#include "passes/report/Report.h"

namespace mlir::dist {

enum class Way { Halo, HaloOfInput, Gathered, Ring, Zigzag, Heads };

/// What all ways to share out an attention are computed from: begins with what
/// a device's own attention says, of queries that are shared out.
class Strategies {
public:
  Strategies(AttentionOp op, ArrayRef<AxisRefAttr> axes, int64_t count);

  /// What the program does, and what its collectives send for that, where they
  /// were found.
  void choose(Way way, std::optional<int64_t> bytes) {
    chosen = way;
    sent = bytes;
  }

  /// Of an attention with all queries, and `here` of `all` heads: as if a
  /// device had some queries, and all heads.
  void takeAllHeads(int64_t all, int64_t here);

  /// All ways, of which one is chosen.
  AttentionUse list();

  /// Devices; queries and keys of each.
  int64_t p, rows, blockKeys;
  /// FLOP of a pair of a query and a key, with all batches.
  int64_t work;
  /// Heads of the keys: the dimension of which there are most.
  int64_t heads = 1;
  /// Of one key and its value; of one query; of its result; of a query and what
  /// comes back for it from the other end in zigzag; and of what else scores of
  /// a query are made of, which goes there, too.
  int64_t keyBytes, queryBytes, resultBytes, mirrorBytes, extraBytes = 0;
  /// For each half of a device's queries, which blocks of keys masks leave
  /// something of (KeyWindows::findSeenBlocks).
  SmallVector<bool> seen;
  /// Keys around a query that it sees, where masks leave it just these.
  std::optional<KeyWindow> window;

private:
  void add(Way way, std::string name, int64_t bytes, int64_t flops,
           std::string problem = {});
  std::pair<int64_t, int64_t> countSeen() const;

  AttentionOp op;
  AttentionUse use;
  Way chosen = Way::Gathered;
  std::optional<int64_t> sent;
};

/// Bytes of one index of a dimension of a tensor.
int64_t getBytesOfRow(Value tensor, int64_t dim);

/// Of the attentions, in linalg mostly, whose keys and values are gathered, or
/// whose heads are shared out by all-to-alls: each with the function that it is
/// in.
std::vector<std::pair<Operation *, AttentionUse>>
findAttentionUses(ModuleOp module);

} // namespace mlir::dist

#endif // DIST_PASSES_REPORT_STRATEGIES_H
