//===- TidyReshards.h - Removes useless reshards ----------------*- C++ -*-===//
//
// Needs a function in which every op has been visited. Removes reshards and
// free values without users. Parts of a constant that is also needed whole
// become slices of it. A reshard that only leads to another one is removed,
// unless a constraint or a sync asked for it.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SPMD_IMPROVE_TIDYRESHARDS_H
#define DIST_PASSES_SPMD_IMPROVE_TIDYRESHARDS_H

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/spmd/graph/PlacedValues.h"

namespace mlir::dist {

void tidyReshards(FunctionOpInterface function, PlacedValues &values);

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_IMPROVE_TIDYRESHARDS_H
