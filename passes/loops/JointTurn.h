//===- JointTurn.h - An iteration and its adjoint in one block --*- C++ -*-===//
//
// A loop and its adjoint do the same iterations; the loop keeps values for the
// adjoint. Here an iteration of both is one block, in which the adjoint reads
// the values directly. So analyses see all readers of a value. The values to
// keep are found again when the two are separated.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_LOOPS_JOINTTURN_H
#define DIST_PASSES_LOOPS_JOINTTURN_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::dist {

class JointTurn {
public:
  /// The loop that reads the values that `forward` keeps of each iteration,
  /// from the last one to the first; null if there is no such loop.
  static scf::ForOp findBackward(scf::ForOp forward);

  /// Copies of both loops, whose iterations are one block: that of the forward
  /// loop, its terminator, that of the backward loop, and its terminator.
  JointTurn(scf::ForOp forward, scf::ForOp backward);

  Block &getBlock() { return *turn.getBody(); }
  /// Erases the copies.
  void discard();
  /// Replaces the loops by the copies.
  void part();

private:
  /// A value that a loop keeps of each iteration, and that only `backward`
  /// reads.
  struct Kept {
    /// The value of one iteration.
    Value value;
    /// The number of the iteration, from 0 on.
    Value place;
    Operation *insert;
    SmallVector<Operation *> reads;
  };
  static std::optional<Kept> findKept(scf::ForOp forward, unsigned number,
                                      scf::ForOp backward);
  void unifyScalars();

  scf::ForOp forward, backward;
  /// The copies; both bodies are in the former.
  scf::ForOp turn, back;
  /// Of the forward loop.
  Operation *end = nullptr;
  /// The results of `forward` that its copy has.
  SmallVector<unsigned> results;
};

} // namespace mlir::dist

#endif // DIST_PASSES_LOOPS_JOINTTURN_H
