//===- Register.h - Everything that a module may contain --------*- C++ -*-===//

#ifndef DIST_COMPILER_REGISTER_H
#define DIST_COMPILER_REGISTER_H

#include "mlir/IR/DialectRegistry.h"

namespace mlir::dist {

/// Registers all dialects, interfaces and translations that a module of any
/// level needs: upstream's and the project's.
void registerAll(DialectRegistry &registry);

} // namespace mlir::dist

#endif // DIST_COMPILER_REGISTER_H
