//===- LoopGathers.h - Gathers in loops over microbatches -------*- C++ -*-===//

#ifndef DIST_PASSES_MEMORY_LOOPGATHERS_H
#define DIST_PASSES_MEMORY_LOOPGATHERS_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::dist {

/// Parameters that are gathered before the loop, and read only in it, are
/// gathered in each iteration, before the first read. Sums that are scattered
/// after the loop are scattered in each iteration, so the loop carries only the
/// device's part.
void moveIntoLoop(scf::ForOp loop);

/// If loops read only slices of a gathered value, such as the parameters of all
/// layers, it is gathered slice by slice, unless that sends more.
void gatherSlices(Block &block);

} // namespace mlir::dist

#endif // DIST_PASSES_MEMORY_LOOPGATHERS_H
