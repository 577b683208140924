//===- LoopHints.h - Hints for LLVM on a kernel's loops ---------*- C++ -*-===//
//
// They change speed, and no bits.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_CPU_LOOPHINTS_H
#define DIST_LOWERING_CPU_LOOPHINTS_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::dist {

/// On a loop of a kernel: hints for LLVM (#llvm.loop_annotation).
inline constexpr llvm::StringLiteral kLoopAnnotationAttr =
    "llvm.loop_annotation";

/// The largest registers have so many f32.
inline constexpr int64_t kVectorLanes = 16;

/// The loop is unrolled fully, or not at all.
void setUnroll(scf::ForOp loop, bool isFull);

/// LLVM fully unrolls short loops with small bodies before it vectorizes, and
/// then finds other vectors or no vectors. This forbids it, so that the loop
/// vectorizer sees them first, and works on so many vectors at once; on 0 where
/// it may choose.
void vectorizeFirst(scf::ForOp loop, int64_t vectors = 0);

/// What is usual for a loop of parallel iterations.
void annotate(scf::ForOp loop, int64_t count, bool isInnermost);

} // namespace mlir::dist

#endif // DIST_LOWERING_CPU_LOOPHINTS_H
