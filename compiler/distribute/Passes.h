//===- Passes.h - From any level to the program of a device -----*- C++ -*-===//
//
// The passes of Passes.td. Those of passes/ know nothing of the lowering; these
// lower copies of the program, to compare what memory they need.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_COMPILER_DISTRIBUTE_PASSES_H
#define DIST_COMPILER_DISTRIBUTE_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace mlir::dist {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/distribute/Passes.h.inc"

} // namespace mlir::dist

#endif // DIST_COMPILER_DISTRIBUTE_PASSES_H
