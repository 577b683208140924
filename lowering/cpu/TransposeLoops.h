//===- TransposeLoops.h - Copies that change the order ----------*- C++ -*-===//
//
// A copy that reads along one loop and writes along another: LLVM would gather
// or scatter single elements. Here squares of a vector's length are read by
// rows, transposed in registers and written by rows.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_CPU_TRANSPOSELOOPS_H
#define DIST_LOWERING_CPU_TRANSPOSELOOPS_H

#include "lowering/kernels/BodyEmitter.h"

namespace mlir::dist {

/// The loops along which a copy reads and writes.
struct Transposition {
  const Access *from, *to;
  /// Positions in the run: the loop along which the copy reads neighbours, and
  /// that along which it writes neighbours.
  size_t readLoop, writtenLoop;
  /// Rows and columns of a square.
  int64_t lanes;
};

/// The run as a transposition; empty if it is not one, or too small.
std::optional<Transposition> findTransposition(const KernelGroup &group,
                                               const Run &run);

/// Writes the square whose first element the loops are bound to.
void emitSquare(OpBuilder &builder, Location loc, BodyEmitter &body,
                const Run &run, const Transposition &copy);

} // namespace mlir::dist

#endif // DIST_LOWERING_CPU_TRANSPOSELOOPS_H
