//===- Passes.h - From loops to kernels -------------------------*- C++ -*-===//

#ifndef DIST_LOWERING_KERNELS_PASSES_H
#define DIST_LOWERING_KERNELS_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::dist {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "lowering/kernels/Passes.h.inc"

} // namespace mlir::dist

#endif // DIST_LOWERING_KERNELS_PASSES_H
