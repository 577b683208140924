//===- MoveReshards.h - Reshards where values are smallest ------*- C++ -*-===//
//
// A reshard of what was repeated, broadcast, widened or scaled moves to before
// that, where it sends less: K and V are gathered before their heads are
// repeated. What a constraint or a sync asked for stays where it is.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SPMD_MOVERESHARDS_H
#define DIST_PASSES_SPMD_MOVERESHARDS_H

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/spmd/PlacedValues.h"
#include "passes/spmd/ReshardPlan.h"

namespace mlir::dist {

/// The bytes of a value, or of what it is made of by ops that a reshard moves
/// to before of, where that is less. Looks at a bounded number of ops.
int64_t getLeastBytes(Value value);

/// Needs a function in which every op has been visited.
void moveReshards(FunctionOpInterface function, const MeshLayout &layout,
                  PlacedValues &values, ReshardPlanner &planner);

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_MOVERESHARDS_H
