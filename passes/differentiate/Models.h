//===- Models.h - Adjoints of ops of several dialects -----------*- C++ -*-===//
//
// External models of DifferentiableOpInterface, a file by kind.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_DIFFERENTIATE_MODELS_H
#define DIST_PASSES_DIFFERENTIATE_MODELS_H

#include "dialects/dist/Interfaces/Adjoints.h"

namespace mlir::dist {

void registerScalarAdjoints(DialectRegistry &registry);
void registerLinalgAdjoints(DialectRegistry &registry);
void registerTensorAdjoints(DialectRegistry &registry);
void registerPlacementAdjoints(DialectRegistry &registry);

/// A tensor of zeros of the type and sizes of `like`.
Value createZeros(OpBuilder &builder, Location loc, Value like);

} // namespace mlir::dist

#endif // DIST_PASSES_DIFFERENTIATE_MODELS_H
