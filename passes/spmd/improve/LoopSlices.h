//===- LoopSlices.h - What loops read slices of moves in slices -*- C++ -*-===//
//
// Needs a function in which every op has been visited. A reshard before a loop
// that only slices in the loop read, parameters of all layers say, becomes one
// of each slice, in the loop: no more is sent, and no device holds all of it.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SPMD_IMPROVE_LOOPSLICES_H
#define DIST_PASSES_SPMD_IMPROVE_LOOPSLICES_H

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/spmd/graph/PlacedValues.h"

namespace mlir::dist {

void sliceBeforeReshards(FunctionOpInterface function, PlacedValues &values);

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_IMPROVE_LOOPSLICES_H
