//===- HandOver.h - What backward keeps of each turn ------------*- C++ -*-===//

#ifndef DIST_PASSES_LOOPS_HANDOVER_H
#define DIST_PASSES_LOOPS_HANDOVER_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::dist {

/// Whether values of the type can be kept for all turns: their size is known.
bool canBeKept(Type type);

/// `backward` counts turns from 0 on, and reads values of the turn of `forward`
/// that it goes back through, the first of it the last of `forward`, as if they
/// were its own. Makes `forward` keep these in tensors with a leading dimension
/// of turns, which are further results of the loop that takes its place, and
/// `backward` read them there; what costs nothing is computed again. The caller
/// erases `forward`, whose body has moved. Fails with an error where something
/// cannot be kept.
FailureOr<scf::ForOp> handOver(scf::ForOp forward, scf::ForOp backward,
                               int64_t turns);

/// Fails with an error where the value cannot be kept for backward.
LogicalResult checkKept(Value value);

/// Marks the region's ops as those of backward.
void markBackward(Region &region);

} // namespace mlir::dist

#endif // DIST_PASSES_LOOPS_HANDOVER_H
