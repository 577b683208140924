//===- Phases.h - The passes of --dist-distribute, one by one ---*- C++ -*-===//

#ifndef DIST_COMPILER_DISTRIBUTE_PHASES_H
#define DIST_COMPILER_DISTRIBUTE_PHASES_H

#include "compiler/distribute/Passes.h"

namespace mlir::dist {

/// Passes that run as one stage of a tool.
struct Phase {
  /// schedule, train, placement or overlap; the first of several.
  StringRef stage;
  OpPassManager passes;
  /// The part of the stage that fails with these passes; "" for all of it.
  StringRef part = "";
};

/// What --dist-distribute does with `module`, which is looked at only: phases
/// are run in their order. Fails after an error at the module.
FailureOr<std::vector<Phase>> getPhases(ModuleOp module,
                                        const DistDistributeOptions &options);

/// "auto" or "off": what overlap= says, or else whether there is a machine.
StringRef getOverlapMode(StringRef overlap, StringRef machine);

/// How many turns the batch is to be done in; 0 where turns= says something
/// else, or nothing.
int64_t countTurns(StringRef turns);

/// The axis of the mesh that is done in turns; "" where none is.
std::string getTurnsAxis(StringRef turns);

/// Registers the dialects of all passes that those of this folder run.
void addPipelineDialects(DialectRegistry &registry);

} // namespace mlir::dist

#endif // DIST_COMPILER_DISTRIBUTE_PHASES_H
