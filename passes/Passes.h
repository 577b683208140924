//===- Passes.h - Passes of dist --------------------------------*- C++ -*-===//
//
// Described in the Passes.td of their folders, one file for each pass. The
// passes of this folder connect other parts: schedules, gradients and training
// steps as passes, and the pipelines.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_PASSES_H
#define DIST_PASSES_PASSES_H

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassOptions.h"
#include "passes/graphs/Passes.h"
#include "passes/halos/Passes.h"
#include "passes/layout/Passes.h"
#include "passes/memory/Passes.h"
#include "passes/overlap/Passes.h"
#include "passes/pipeline/Passes.h"
#include "passes/rings/Passes.h"
#include "passes/sizes/Passes.h"
#include "passes/spmd/improve/Passes.h"
#include "passes/spmd/insert/Passes.h"
#include "passes/spmd/partition/Passes.h"
#include "passes/spmd/prepare/Passes.h"
#include "passes/spmd/propagate/Passes.h"
#include "passes/spmd/verify/Passes.h"

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
  Option<std::string> machine{
      *this, "machine",
      llvm::cl::desc("What it runs on, a name or a file, for the ways between "
                     "placements (--dist-partition)"),
      llvm::cl::init("")};
  Option<std::string> link{
      *this, "link",
      llvm::cl::desc("In place of the machine's links one along each axis of "
                     "the mesh, as in {latency=20us,bandwidth=1GB/s}"),
      llvm::cl::init("")};
  Option<bool> assumeMasks{
      *this, "assume-masks",
      llvm::cl::desc("Scores of attention are at most 4000 in magnitude, and "
                     "each query sees a key, so that masks of -1e4 or less "
                     "hide keys (--dist-recognize-windows)"),
      llvm::cl::init(false)};
};

/// A machine, by name or file, and its links if they differ; empty if unknown.
struct MachineNames {
  std::string machine, link;
};

/// The pipeline --dist-spmd: from a level-1 module to the program of one
/// device.
void buildSpmdPipeline(OpPassManager &pm, bool fuseTransposes = false,
                       StringRef turns = {}, const MachineNames &on = {},
                       bool assumeMasks = false);
/// Its first part: to a module of level 2, which is verified. If the axis
/// `turns` is named, no sum is pending over it.
void buildPlacementPipeline(OpPassManager &pm, StringRef turns = {},
                            bool assumeMasks = false);
/// What follows --dist-insert-reshards there, and makes fewer and cheaper
/// reshards (--dist-improve-reshards).
void buildImproveReshardsPipeline(OpPassManager &pm);
/// The second part: carries out a module of level 2 as it is written.
void buildPartitionPipeline(OpPassManager &pm, bool fuseTransposes = false,
                            const MachineNames &on = {});
/// Its last part, for a module of level 3: collectives on the leading
/// dimension, verified.
void addFuseTransposes(OpPassManager &pm);
/// Registers --dist-spmd and --dist-improve-reshards.
void registerSpmdPipeline();

/// Registers all passes below passes/ and their pipelines.
void registerAllDistPasses();

} // namespace dist
} // namespace mlir

#endif // DIST_PASSES_PASSES_H
