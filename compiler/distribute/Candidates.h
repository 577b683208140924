//===- Candidates.h - What passes compare that keep the better --*- C++ -*-===//

#ifndef DIST_COMPILER_DISTRIBUTE_CANDIDATES_H
#define DIST_COMPILER_DISTRIBUTE_CANDIDATES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace mlir::dist {

/// Whether a collective runs beside computation.
bool hasStreams(ModuleOp module);

/// The bytes of the arena that a program of level 3 or 4 gets. Fails, and says
/// nothing, where it cannot be lowered; lowering it tells why.
FailureOr<int64_t> planArena(ModuleOp module);

/// Whether `module` needs at most `allowed` times the memory of a program with
/// an arena of `before` bytes. True where one of them cannot be planned. `what`
/// names `module` in a remark, which is made if `report`.
bool fitsMemory(ModuleOp module, FailureOr<int64_t> before, double allowed,
                bool report, const Twine &what);

/// Exchanges bodies and attributes of two modules.
void swapModules(ModuleOp a, ModuleOp b);

} // namespace mlir::dist

#endif // DIST_COMPILER_DISTRIBUTE_CANDIDATES_H
