//===- Adjoints.h - Cotangents of values ------------------------*- C++ -*-===//
//
// Reverse mode over the ops of a block (Linnainmaa 1970; Griewank and Walther
// 2008): from the last op to the first, each op turns the cotangents of its
// results into contributions to those of its operands.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_DIALECTS_DIST_INTERFACES_ADJOINTS_H
#define DIST_DIALECTS_DIST_INTERFACES_ADJOINTS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::dist {

/// Whether values of the type have derivatives: floating-point numbers, and
/// tensors of them.
bool isDifferentiable(Type type);

/// The cotangents of the values of a block.
class Adjoints {
public:
  /// A value is active if it depends on a value that gradients are taken for.
  bool isActive(Value value) const { return active.contains(value); }
  void setActive(Value value) { active.insert(value); }

  /// From now on each contribution follows its primal, so that it is placed
  /// alike (dist.follow).
  void followPrimals() { isFollowing = true; }

  /// The cotangent found so far; null if it is zero.
  Value lookup(Value value) const { return cotangents.lookup(value); }

  /// Adds to the cotangent of `value`, if it is active. `cotangent` has the
  /// type of `value`.
  void add(OpBuilder &builder, Location loc, Value value, Value cotangent);

  /// The same if `cotangent` is that of a slice of `value`: the elements from
  /// `offsets` on, of static sizes. `settle` concatenates slices: if slices
  /// side by side make up the whole value, they become one tensor.
  void addSlice(Location loc, Value value, ArrayRef<int64_t> offsets,
                Value cotangent);

  /// `value` is active, and its contributions are added to `sum`. The sum is
  /// carried around a loop or through a branch, so it is written in place.
  void carry(Value value, Value sum);

  /// Takes the sum that is carried for `value`, to be returned by `giveBack`.
  /// Null if nothing is carried.
  Value takeCarried(Value value);

  /// Returns the result for `takeCarried`. If that returned null, it is a
  /// contribution.
  void giveBack(OpBuilder &builder, Location loc, Value value, Value sum);

  /// Completes the cotangent of `value`, after all its users have been visited.
  void settle(OpBuilder &builder, Value value);

  /// Marks what `block` computes from active values, in one sweep.
  void spreadActivity(Block &block);

  /// Adds the adjoints of those of `ops` that have a result with a cotangent,
  /// from the last to the first. Fails after an error.
  LogicalResult reverse(OpBuilder &builder, ArrayRef<Operation *> ops);

  /// For adjoints that need more results of their op than it has: `values`
  /// replace its results from now on. The op is erased when all adjoints are
  /// written.
  void replace(Operation *op, ValueRange values);

private:
  llvm::DenseSet<Value> active;
  llvm::DenseMap<Value, Value> cotangents;
  llvm::DenseSet<Value> carried;
  SmallVector<Operation *> replaced;
  bool isFollowing = false;
  struct Slice {
    Location loc;
    SmallVector<int64_t, 4> offsets;
    Value cotangent;
  };
  llvm::DenseMap<Value, SmallVector<Slice, 2>> slices;
  Value concatenate(OpBuilder &builder, RankedTensorType type,
                    MutableArrayRef<Slice> parts);
};

/// Whether an op, or one within its regions, has an operand that matches.
bool readsAny(Operation *op, function_ref<bool(Value)> matches);

/// A floating-point constant: a scalar of the type of `like`, or a tensor of
/// equal elements of that type.
Value createConstantLike(OpBuilder &builder, Location loc, Value like,
                         double number);

} // namespace mlir::dist

#include "dialects/dist/Interfaces/DifferentiableOpInterface.h.inc"

#endif // DIST_DIALECTS_DIST_INTERFACES_ADJOINTS_H
