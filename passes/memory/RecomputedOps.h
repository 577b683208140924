//===- RecomputedOps.h - What may be computed twice -------------*- C++ -*-===//
//
// Tells forward and backward of a block apart, and which ops of forward may be
// repeated.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_MEMORY_RECOMPUTEDOPS_H
#define DIST_PASSES_MEMORY_RECOMPUTEDOPS_H

#include "dialects/dist/IR/Dist.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::dist {

/// What is repeated; see --dist-recompute.
enum class Repeated { Asked, Cheap, Gathers };

class RecomputedOps {
public:
  /// Of a block with ops of backward: from the first of them on, all are.
  RecomputedOps(Block &block, Repeated repeated);

  ArrayRef<Operation *> getForward() const { return forward; }
  /// Without the terminator.
  ArrayRef<Operation *> getBackward() const { return backward; }

  /// Whether `value` is a tensor that forward computes: no constant, and not
  /// only a shape.
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
  /// The module under dist.checkpoint that the op is of; null: none.
  Attribute getModule(Operation *op) const { return modules.lookup(op); }

  Block &block;
  Repeated repeated;
  SmallVector<Operation *> forward, backward;
  llvm::DenseSet<Operation *> inForward, repeatable;
  llvm::DenseMap<Operation *, Attribute> modules;
  /// Values that are made of parameters alone.
  llvm::DenseSet<Value> ofParameters;
};

/// Values of the block that are computed of parameters alone.
llvm::DenseSet<Value> findOfParameters(Block &block);

} // namespace mlir::dist

#endif // DIST_PASSES_MEMORY_RECOMPUTEDOPS_H
