//===- ScatterEmitter.h - Writes a scatter as a kernel of a GPU -*- C++ -*-===//
//
// A thread has a column of a slice. That of the first slice of a row adds all
// of the row's, in their order; without `add`, that of the last one writes it.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_GPU_SCATTEREMITTER_H
#define DIST_LOWERING_GPU_SCATTEREMITTER_H

#include "lowering/kernels/KernelTarget.h"

namespace mlir::dist {

/// Emits `scatter` as a function at the end of the builder's block, with the
/// number of its blocks (kBlocksAttr). See KernelTarget::emitScatter.
FailureOr<Kernel> emitGpuScatter(OpBuilder &builder, StringRef name,
                                 rt::ScatterOp scatter,
                                 const BufferAliases &aliases);

} // namespace mlir::dist

#endif // DIST_LOWERING_GPU_SCATTEREMITTER_H
