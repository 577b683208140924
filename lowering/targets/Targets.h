//===- Targets.h - The targets of this build --------------------*- C++ -*-===//
//
// The only list of them: a new target (lowering/pipeline/Target.h) is one line
// in Targets.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_TARGETS_TARGETS_H
#define DIST_LOWERING_TARGETS_TARGETS_H

#include "lowering/pipeline/Target.h"

namespace mlir::dist {

/// All targets, the default one first. They live as long as the program.
ArrayRef<const Target *> getTargets();

/// The target of that name; null for any other name.
const Target *findTarget(StringRef name);

/// Registers all passes of the lowering, and a pipeline for each target, with
/// dist-opt.
void registerLowerPasses();

} // namespace mlir::dist

#endif // DIST_LOWERING_TARGETS_TARGETS_H
