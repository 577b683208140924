//===- Passes.h - Passes of dist --------------------------------*- C++ -*-===//
//
// Described in Passes.td, one file a pass.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_PASSES_H
#define DIST_PASSES_PASSES_H

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassOptions.h"

namespace mlir {
class ModuleOp;
class OpPassManager;
namespace dist {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Passes.h.inc"

struct SpmdPipelineOptions : PassPipelineOptions<SpmdPipelineOptions> {
  Option<bool> fuseTransposes{
      *this, "fuse-transposes",
      llvm::cl::desc("Store tensors so that collectives are on the leading "
                     "dimension (--dist-fuse-transposes)"),
      llvm::cl::init(false)};
  Option<std::string> turns{
      *this, "turns",
      llvm::cl::desc("An axis of the mesh that one device is to do in turns "
                     "(--dist-unroll-axis): what reduces over it is done whole "
                     "(--dist-whole-sums)"),
      llvm::cl::init("")};
};

/// The pipeline --dist-spmd: from a level-1 module to the program of one
/// device.
void buildSpmdPipeline(OpPassManager &pm, bool fuseTransposes = false,
                       StringRef turns = {});
/// Its first part: to a module of level 2, which is checked. Nothing is pending
/// over the axis `turns`, if one is named.
void buildPlacementPipeline(OpPassManager &pm, StringRef turns = {});
/// The rest: what a module of level 2 says is what is done.
void buildPartitionPipeline(OpPassManager &pm, bool fuseTransposes = false);
/// Its last part, for a module of level 3: collectives on the leading
/// dimension, verified.
void addFuseTransposes(OpPassManager &pm);
void registerSpmdPipeline();

} // namespace dist
} // namespace mlir

#endif // DIST_PASSES_PASSES_H
