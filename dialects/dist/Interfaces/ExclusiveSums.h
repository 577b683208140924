//===- ExclusiveSums.h - Pending sums of one summand each -------*- C++ -*-===//
//
// Rows that are looked up in a table of which each device has a part are a
// pending sum of a kind of its own: of every row one device has all, and the
// others have zeros. Such a sum passes through more than linear ops. An op that
// keeps the rows apart, and makes zeros of zeros, makes the right row where the
// row is, and zeros elsewhere; so it does of several such sums, as long as
// their rows are on the same devices. Added up where they were looked up, in a
// table that is cut alike, the rows are complete: each device adds those that
// it has to those that it has.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_DIALECTS_DIST_INTERFACES_EXCLUSIVESUMS_H
#define DIST_DIALECTS_DIST_INTERFACES_EXCLUSIVESUMS_H

#include "dialects/dist/Interfaces/ShardingRule.h"

namespace mlir::dist {

/// The rows of a pending sum, and where they are.
struct ExclusiveSum {
  /// The numbers of the rows, as `tensor.gather` takes them.
  Value indices;
  /// The table: how many rows it has, and how these are cut (null before they
  /// are).
  int64_t tableSize;
  DimShardingAttr cut;
  /// For each dimension of the indices but the last the one of the value.
  SmallVector<unsigned, 2> slots;
};

/// The pending sums of one summand each that are known so far.
class ExclusiveSums {
public:
  using GetRule = function_ref<const ShardingRule &(Operation *)>;

  /// Notes what `op`, whose flagged operands are pending, makes of them; or, of
  /// a lookup, the rows of a table cut as `cut`, if that is set.
  void visit(Operation *op, const ShardingRule &rule, ArrayRef<bool> flagged,
             DimShardingAttr cut = {});
  /// The same of a placed op.
  void visit(Operation *op, const ShardingRule &rule,
             function_ref<ShardingAttr(Value)> getPlacement);
  /// `to` is `from` at another place, as pending as before.
  void copy(Value from, Value to);
  /// What is known of a value; null where that is nothing.
  const ExclusiveSum *get(Value value) const {
    if (auto found = sums.find(value); found != sums.end())
      return &found->second;
    return before ? before->get(value) : nullptr;
  }

  /// Whether the sums pending in the flagged operands, which may be no others
  /// than known ones, pass through the op.
  bool passes(Operation *op, const ShardingRule &rule,
              ArrayRef<bool> flagged) const;
  /// Whether they would but for the op's body, which makes something else than
  /// zeros of zeros.
  bool passesMasked(Operation *op, const ShardingRule &rule,
                    ArrayRef<bool> flagged) const;

  /// Whether `op` adds the rows of its flagged operand to the table that they
  /// were looked up in, which is placed as `table`: nothing is pending then.
  bool settles(Operation *op, ArrayRef<bool> flagged, ShardingAttr table) const;

  /// Whether it sends less to leave the sum of `value` pending for all that
  /// read it. Looks ahead at what they, and a bounded number of ops after them,
  /// would leave pending; only at those that count. `getTarget` says where the
  /// results of ops are meant to be.
  bool isBestLeftPending(Value value, GetRule getRule,
                         function_ref<bool(Operation *)> counts,
                         function_ref<ShardingAttr(Value)> getTarget) const;

private:
  /// The factor of each slot in `op`; nothing where the flagged operands do not
  /// have the same rows on the same devices, or have them in different loops.
  std::optional<SmallVector<unsigned, 2>>
  findSlotFactors(Operation *op, const ShardingRule &rule,
                  ArrayRef<bool> flagged) const;

  llvm::DenseMap<Value, ExclusiveSum> sums;
  /// While looking ahead, what is known by now.
  const ExclusiveSums *before = nullptr;
};

} // namespace mlir::dist

#endif // DIST_DIALECTS_DIST_INTERFACES_EXCLUSIVESUMS_H
