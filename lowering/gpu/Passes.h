//===- Passes.h - From buffers to code for a GPU ----------------*- C++ -*-===//
//
// The passes of Passes.td; GpuTarget.h runs them in their order.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_GPU_PASSES_H
#define DIST_LOWERING_GPU_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::dist {

#define GEN_PASS_DECL
#include "lowering/gpu/Passes.h.inc"

} // namespace mlir::dist

#endif // DIST_LOWERING_GPU_PASSES_H
