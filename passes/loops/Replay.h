//===- Replay.h - What backward reads of a forward region -------*- C++ -*-===//
//
// Adjoints of a region are written in a region of their own, where the values
// of the forward one are out of reach: what costs nothing is computed again,
// the rest is handed over.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_LOOPS_REPLAY_H
#define DIST_PASSES_LOOPS_REPLAY_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Region.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::dist {

class Replay {
public:
  /// Of the values of `forward`, a region of one block, those that ops within
  /// `backward` read. Wishes of placement in `backward` whose leader is one of
  /// them go. `known` is there on both sides, as the number of a round.
  Replay(Region &forward, Region &backward, Value known = nullptr);

  /// What is to be handed over, in the order of its definition.
  ArrayRef<Value> getSaved() const { return saved.getArrayRef(); }

  /// Writes at `builder` what is computed again, and makes `backward` read it
  /// and what `mapping` gives for `known` and the saved values. The forward
  /// values may have moved to another op by then.
  void connect(OpBuilder &builder, IRMapping &mapping);

private:
  Region &backward;
  /// Computed again, in order.
  SmallVector<Operation *> cheap;
  llvm::SetVector<Value> saved;
};

} // namespace mlir::dist

#endif // DIST_PASSES_LOOPS_REPLAY_H
