//===- ExclusiveSums.h - Pending sums of one summand each -------*- C++ -*-===//
//
// Rows are looked up in a table that is sharded. The result is a pending sum
// with exactly one non-zero summand for each row: the owner of the row has all
// of it, all others have zeros.
//
// Such a sum commutes with more than linear ops. If an op keeps the rows apart
// and maps zeros to zeros, then it computes the right row at the owner, and
// zeros elsewhere. This also holds for several such sums, if their rows have
// the same owners.
//
// The rows may then be added to a table that is sharded in the same way. That
// completes the sums: each device adds the rows that it has to its own.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_DIALECTS_DIST_INTERFACES_EXCLUSIVESUMS_H
#define DIST_DIALECTS_DIST_INTERFACES_EXCLUSIVESUMS_H

#include "dialects/dist/Interfaces/ShardingRule.h"

namespace mlir::dist {

/// The rows of a pending sum, and their owners.
struct ExclusiveSum {
  /// The numbers of the rows, as `tensor.gather` takes them.
  Value indices;
  /// The table: its number of rows, and the sharding of the rows (null before
  /// it is known).
  int64_t tableSize;
  DimShardingAttr cut;
  /// For each dimension of the indices except the last: the dimension of the
  /// value.
  SmallVector<unsigned, 2> slots;
};

/// The pending sums with one non-zero summand that are known so far.
class ExclusiveSums {
public:
  using GetRule = function_ref<const ShardingRule &(Operation *)>;

  /// Records the results of `op`, whose flagged operands are pending. For a
  /// lookup it records the rows of a table that is sharded as `cut`, if that is
  /// set.
  void visit(Operation *op, const ShardingRule &rule, ArrayRef<bool> flagged,
             DimShardingAttr cut = {});
  /// The same for a placed op.
  void visit(Operation *op, const ShardingRule &rule,
             function_ref<ShardingAttr(Value)> getPlacement);
  /// `to` equals `from` with another placement, and is pending in the same way.
  void copy(Value from, Value to);
  /// The known rows of a value; null if it is not such a sum.
  const ExclusiveSum *get(Value value) const {
    if (auto found = sums.find(value); found != sums.end())
      return &found->second;
    return before ? before->get(value) : nullptr;
  }

  /// Whether the sums that are pending in the flagged operands pass through the
  /// op. Fails for sums that are not known here.
  bool passes(Operation *op, const ShardingRule &rule,
              ArrayRef<bool> flagged) const;
  /// Whether they fail to pass only because of the op's body, which does not
  /// map zeros to zeros.
  bool passesMasked(Operation *op, const ShardingRule &rule,
                    ArrayRef<bool> flagged) const;

  /// Whether `op` adds the rows of its flagged operand to the table that they
  /// were looked up in, which is placed as `table`. Then nothing is pending.
  bool settles(Operation *op, ArrayRef<bool> flagged, ShardingAttr table) const;

  /// Whether less is sent if the sum of `value` stays pending for all readers.
  /// Looks ahead at what they, and a bounded number of ops after them, would
  /// leave pending; only the ops that count. `getTarget` returns the intended
  /// placement of the ops' results.
  bool isBestLeftPending(Value value, GetRule getRule,
                         function_ref<bool(Operation *)> counts,
                         function_ref<ShardingAttr(Value)> getTarget) const;

private:
  /// The factor of each slot in `op`. Empty if the flagged operands do not have
  /// the same rows on the same devices, or have them in different loops.
  std::optional<SmallVector<unsigned, 2>>
  findSlotFactors(Operation *op, const ShardingRule &rule,
                  ArrayRef<bool> flagged) const;
  /// Whether a value will be such a sum, although its op may not have been
  /// visited yet: a lookup in a table that is to be sharded, and ops of one
  /// operand behind it. Records it then.
  bool expect(Value value, GetRule getRule,
              function_ref<ShardingAttr(Value)> getTarget, unsigned depth);

  llvm::DenseMap<Value, ExclusiveSum> sums;
  /// The known sums while looking ahead.
  const ExclusiveSums *before = nullptr;
};

} // namespace mlir::dist

#endif // DIST_DIALECTS_DIST_INTERFACES_EXCLUSIVESUMS_H
