//===- LoopOrder.h - The order of a kernel's loops on a core ----*- C++ -*-===//

#ifndef DIST_LOWERING_CPU_LOOPORDER_H
#define DIST_LOWERING_CPU_LOOPORDER_H

#include "lowering/kernels/KernelLoops.h"

namespace mlir::dist {

/// The innermost loop is the one along which most operands are contiguous.
/// Reductions are inside parallel loops, so that their accumulators stay in
/// registers or in the cache. Returns whether short ones are innermost although
/// operands are contiguous along another (Run::areTermsApart).
bool orderLoops(const KernelGroup &group, SmallVector<Loop> &loops,
                ArrayRef<unsigned> members);

} // namespace mlir::dist

#endif // DIST_LOWERING_CPU_LOOPORDER_H
