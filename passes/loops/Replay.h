//===- Replay.h - Values of forward regions in backward ---------*- C++ -*-===//
//
// The adjoint of a region is written in a region of its own, which cannot use
// values of the forward region. Values that cost nothing are recomputed; others
// are passed on.
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
  /// The values of `forward`, a region of one block, that ops in `backward`
  /// read. Placement preferences in `backward` whose leader is one of them are
  /// erased. `known` exists on both sides, such as the number of an iteration.
  Replay(Region &forward, Region &backward, Value known = nullptr);

  /// The values to pass on, in the order of their definition.
  ArrayRef<Value> getSaved() const { return saved.getArrayRef(); }

  /// Creates the recomputed values at `builder`, and makes `backward` read
  /// these, and those of `mapping` for `known` and the saved values. Meanwhile
  /// the forward values may have moved to another op.
  void connect(OpBuilder &builder, IRMapping &mapping);

private:
  Region &backward;
  /// Recomputed values, in order.
  SmallVector<Operation *> cheap;
  llvm::SetVector<Value> saved;
};

} // namespace mlir::dist

#endif // DIST_PASSES_LOOPS_REPLAY_H
