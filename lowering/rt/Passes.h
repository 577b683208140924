//===- Passes.h - From collectives to runtime calls -------------*- C++ -*-===//
//
// The passes of Passes.td.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_RT_PASSES_H
#define DIST_LOWERING_RT_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::dist {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "lowering/rt/Passes.h.inc"

} // namespace mlir::dist

#endif // DIST_LOWERING_RT_PASSES_H
