//===- CarriedValues.h - What loops begin with ------------------*- C++ -*-===//
//
// Upstream asks what a loop carries of both what it begins with and what it
// hands on, and a loop within another asks about the outer one again: that
// doubles with each level of loops. Here the answers are put into the program.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_BUFFERS_CARRIEDVALUES_H
#define DIST_LOWERING_BUFFERS_CARRIEDVALUES_H

#include "lowering/buffers/InPlace.h"

namespace mlir::dist {

/// Copies what loops must not write over; upstream would ask first who reads
/// it.
void copyCarriedValues(ModuleOp module, InPlaceState &state);

/// Lets every loop begin with tensors that name the types of their buffers,
/// which are dense.
void fixCarriedTypes(ModuleOp module);

/// Upstream asks every operand of a loop what it aliases to find the one that a
/// result does, which is quadratic in what the loop carries: here the one that
/// is tied to it is asked alone. To be called after upstream's models of scf
/// are registered.
void registerLoopAliases(DialectRegistry &registry);

} // namespace mlir::dist

#endif // DIST_LOWERING_BUFFERS_CARRIEDVALUES_H
