//===- CutTasks.h - A step as the tasks of stages ---------------*- C++ -*-===//

#ifndef DIST_PASSES_PIPELINE_CUTTASKS_H
#define DIST_PASSES_PIPELINE_CUTTASKS_H

#include "passes/pipeline/EndPlaces.h"

namespace mlir::dist {

/// Puts what `function` computes into tasks; the loop over microbatches is
/// replaced by a new one. Parameters that several stages hold become an
/// argument of each.
LogicalResult cutTasks(func::FuncOp function, scf::ForOp loop,
                       const StagePlaces &body, const OuterReads &outer);

} // namespace mlir::dist

#endif // DIST_PASSES_PIPELINE_CUTTASKS_H
