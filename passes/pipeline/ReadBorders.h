//===- ReadBorders.h - What comes from another stage is kept ----*- C++ -*-===//

#ifndef DIST_PASSES_PIPELINE_READBORDERS_H
#define DIST_PASSES_PIPELINE_READBORDERS_H

#include "passes/pipeline/StagePlaces.h"

namespace mlir::dist {

/// Backward of a stage that computes a value of another stage again reads the
/// value itself: forward has got it. Else what it is computed from would be
/// sent, too.
void readBorders(scf::ForOp loop, const StagePlaces &places);

} // namespace mlir::dist

#endif // DIST_PASSES_PIPELINE_READBORDERS_H
