//===- JointTurn.h - A turn and its adjoint in one block --------*- C++ -*-===//
//
// A loop and the one that goes back through it do the same turn, which keeps
// values for its adjoint. Here both are one block, in which the adjoint reads
// what the turn has computed: what is to be known of values and all that reads
// them is seen there. What is kept is found anew when they part.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_LOOPS_JOINTTURN_H
#define DIST_PASSES_LOOPS_JOINTTURN_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::dist {

class JointTurn {
public:
  /// The loop that reads what `forward` keeps of each turn, from the last turn
  /// to the first; null if there is none.
  static scf::ForOp findBackward(scf::ForOp forward);

  /// Copies of both, whose turns are one block: that of the former, its
  /// terminator, that of the latter, and its terminator.
  JointTurn(scf::ForOp forward, scf::ForOp backward);

  Block &getBlock() { return *turn.getBody(); }
  /// Erases the copies.
  void discard();
  /// The copies take the places of the loops.
  void part();

private:
  /// What a loop keeps of each turn, and nobody but `backward` reads.
  struct Kept {
    /// Of a turn.
    Value value;
    /// Which turn it is, from 0 on.
    Value place;
    Operation *insert;
    SmallVector<Operation *> reads;
  };
  static std::optional<Kept> findKept(scf::ForOp forward, unsigned number,
                                      scf::ForOp backward);
  void unifyScalars();

  scf::ForOp forward, backward;
  /// The copies; both turns are in the former.
  scf::ForOp turn, back;
  /// Of the former.
  Operation *end = nullptr;
  /// The results of `forward` that its copy has.
  SmallVector<unsigned> results;
};

} // namespace mlir::dist

#endif // DIST_PASSES_LOOPS_JOINTTURN_H
