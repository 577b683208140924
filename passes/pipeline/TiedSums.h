//===- TiedSums.h - Gradients to which several stages add -------*- C++ -*-===//

#ifndef DIST_PASSES_PIPELINE_TIEDSUMS_H
#define DIST_PASSES_PIPELINE_TIEDSUMS_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::dist {

/// Where a carried sum gets what several stages have computed, each stage gets
/// a sum of its own; these are added up after the loop, in the order of stages.
/// `getStage` is of the ops of the loop. Returns the loop, which is a new one
/// if any sum was split.
scf::ForOp splitTiedSums(scf::ForOp loop,
                         function_ref<int64_t(Operation *)> getStage);

} // namespace mlir::dist

#endif // DIST_PASSES_PIPELINE_TIEDSUMS_H
