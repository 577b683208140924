//===- HandOver.h - Values that loops keep for backward ---------*- C++ -*-===//

#ifndef DIST_PASSES_LOOPS_HANDOVER_H
#define DIST_PASSES_LOOPS_HANDOVER_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::dist {

/// Whether values of the type can be kept for all iterations: their size is
/// known.
bool canBeKept(Type type);

/// `backward` goes back through the iterations of `forward`: it counts them
/// from 0 on, and its first one belongs to the last one of `forward`. It reads
/// values of `forward`'s iteration as if they were its own. This makes
/// `forward` store them in tensors with a leading dimension of iterations,
/// which are further results of the loop that replaces it, and makes `backward`
/// read them there. Values that cost nothing are recomputed. The caller erases
/// `forward`, whose body has moved. Fails with an error if a value cannot be
/// kept.
FailureOr<scf::ForOp> handOver(scf::ForOp forward, scf::ForOp backward,
                               int64_t turns);

/// Fails with an error if the value cannot be kept for backward.
LogicalResult checkKept(Value value);

/// Marks the region's ops as backward.
void markBackward(Region &region);

} // namespace mlir::dist

#endif // DIST_PASSES_LOOPS_HANDOVER_H
