//===- ContractionMatch.h - Contractions among linalg ops -------*- C++ -*-===//
//
// Recognizes the runtime's contraction by body and indexing maps, never by
// name.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_BUFFERS_CONTRACTIONMATCH_H
#define DIST_LOWERING_BUFFERS_CONTRACTIONMATCH_H

#include "dialects/dist/Interfaces/Reductions.h"
#include "lowering/rt/Rt.h"

namespace mlir::dist {

/// dist_loop_kind of runtime.h.
using rt::LoopKind;

/// The kind of each loop of c += a * b, if every indexing map is a projected
/// permutation; fails for every other op. Extensions of a and b before the
/// product are looked through.
FailureOr<SmallVector<LoopKind>> matchContraction(linalg::LinalgOp op);

} // namespace mlir::dist

#endif // DIST_LOWERING_BUFFERS_CONTRACTIONMATCH_H
