//===- MicrobatchLoop.h - The loop over microbatches ------------*- C++ -*-===//

#ifndef DIST_PASSES_PIPELINE_MICROBATCHLOOP_H
#define DIST_PASSES_PIPELINE_MICROBATCHLOOP_H

#include "dialects/dist/IR/Dist.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::dist {

/// The loop of a step of training. A program without one gets it: what depends
/// on inputs is done in the loop, what only the optimizer reads comes behind
/// it. There is one microbatch, or if `axis` is not empty one for each place
/// along that axis of the mesh, which is then gone: each is a part of the
/// batch. Fails after an error at what needs all microbatches at once, and at a
/// value that is no tensor and would be carried out of the loop.
FailureOr<scf::ForOp> findLoop(func::FuncOp function, MeshOp mesh,
                               StringRef axis);

} // namespace mlir::dist

#endif // DIST_PASSES_PIPELINE_MICROBATCHLOOP_H
