//===- CarriedValues.h - Initial values of loops ----------------*- C++ -*-===//
//
// For a loop-carried value, upstream analyzes both the initial value and the
// yielded one. A loop in another asks about the outer one again, so the time
// doubles with each level of loops. Here the answers are written into the
// program.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_BUFFERS_CARRIEDVALUES_H
#define DIST_LOWERING_BUFFERS_CARRIEDVALUES_H

#include "lowering/buffers/InPlace.h"

namespace mlir::dist {

/// Copies values that loops must not overwrite. Otherwise upstream would search
/// for their readers.
void copyCarriedValues(ModuleOp module, InPlaceState &state);

/// Makes the initial values of all loops tensors that name the types of their
/// buffers, which are dense.
void fixCarriedTypes(ModuleOp module);

/// Upstream asks every operand of a loop for its aliases to find the one of a
/// result, which is quadratic in the number of carried values. Here only the
/// tied operand is asked. To be called after upstream's models of scf are
/// registered.
void registerLoopAliases(DialectRegistry &registry);

} // namespace mlir::dist

#endif // DIST_LOWERING_BUFFERS_CARRIEDVALUES_H
