//===- LoopSlices.h - Reshards only the slice that a loop reads -*- C++ -*-===//
//
// Needs a function in which every op has been visited. A loop may read only
// slices of a value that is resharded before it, such as the parameters of all
// layers. Then each iteration reshards its slice instead. No more is sent, and
// no device holds all of the value.
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
