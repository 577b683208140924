//===- TidyReshards.h - What is left over goes ------------------*- C++ -*-===//
//
// Needs a function in which every op has been visited. Leaves no reshard and no
// free value without a user, parts of a constant that is needed whole as slices
// of it, and no reshard that only leads to another one, unless a constraint or
// a sync asked for it.
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
