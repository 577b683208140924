//===- RecomputedOps.h - Ops that may be recomputed -------------*- C++ -*-===//
//
// Separates forward and backward of a block, and finds the ops of forward that
// may be repeated.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_MEMORY_RECOMPUTEDOPS_H
#define DIST_PASSES_MEMORY_RECOMPUTEDOPS_H

#include "dialects/dist/IR/Dist.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::dist {

/// The ops to repeat; see --dist-recompute.
enum class Repeated { Asked, Cheap, Gathers };

class RecomputedOps {
public:
  /// For a block with backward ops: all ops from the first backward op on are
  /// backward.
  RecomputedOps(Block &block, Repeated repeated);

  ArrayRef<Operation *> getForward() const { return forward; }
  /// Without the terminator.
  ArrayRef<Operation *> getBackward() const { return backward; }

  /// Whether `value` is a tensor that forward computes. Constants, and values
  /// of which only the shape matters, are not.
  bool isComputed(Value value) const;
  /// Whether the op of forward may be repeated.
  bool mayRepeat(Operation *op) const { return repeatable.contains(op); }

private:
  void findModules();
  void findRepeatable();
  bool isCheap(Operation *op) const;
  void keepWhatLeaves();
  void keepWhatIsCompared();
  void keep(Value value);
  /// The module under dist.checkpoint that contains the op, or null.
  Attribute getModule(Operation *op) const { return modules.lookup(op); }

  Block &block;
  Repeated repeated;
  SmallVector<Operation *> forward, backward;
  llvm::DenseSet<Operation *> inForward, repeatable;
  llvm::DenseMap<Operation *, Attribute> modules;
  /// Values that are computed only from parameters.
  llvm::DenseSet<Value> ofParameters;
};

/// Values of the block that are computed only from parameters.
llvm::DenseSet<Value> findOfParameters(Block &block);

} // namespace mlir::dist

#endif // DIST_PASSES_MEMORY_RECOMPUTEDOPS_H
