//===- Passes.h - Passes of dist --------------------------------*- C++ -*-===//
//
// Described in Passes.td, one file a pass.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_PASSES_H
#define DIST_PASSES_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir {
class ModuleOp;
class OpPassManager;
namespace dist {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Passes.h.inc"

/// The pipeline --dist-spmd: from a level-1 module to the program of one
/// device.
void buildSpmdPipeline(OpPassManager &pm);
/// Its first part: to a module of level 2, which is checked.
void buildPlacementPipeline(OpPassManager &pm);
void registerSpmdPipeline();

} // namespace dist
} // namespace mlir

#endif // DIST_PASSES_PASSES_H
