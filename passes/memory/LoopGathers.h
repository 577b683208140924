//===- LoopGathers.h - Gathers in loops over microbatches -------*- C++ -*-===//

#ifndef DIST_PASSES_MEMORY_LOOPGATHERS_H
#define DIST_PASSES_MEMORY_LOOPGATHERS_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::dist {

/// Parameters that are gathered before the loop and read in it alone are
/// gathered in each round, where they are read first; and sums that are
/// scattered after it are scattered in each round, so that the loop carries a
/// device's part of them.
void moveIntoLoop(scf::ForOp loop);

/// What is gathered and of which loops read slices alone, parameters of all
/// layers say, is gathered slice by slice, where that sends no more.
void gatherSlices(Block &block);

} // namespace mlir::dist

#endif // DIST_PASSES_MEMORY_LOOPGATHERS_H
