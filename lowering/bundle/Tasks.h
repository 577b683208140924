//===- Tasks.h - The tasks of a pipeline, each as a program -----*- C++ -*-===//
//
// A program that --dist-pipeline has cut is lowered task by task. Each is a
// module of its own with a @main, so that no pass knows of tasks. What they
// become is one program, with an entry point for each.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_BUNDLE_TASKS_H
#define DIST_LOWERING_BUNDLE_TASKS_H

#include "dist/Manifest.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace mlir::dist {

/// Whether the program has been cut into tasks.
bool hasTasks(ModuleOp module);

/// A module for each task, in program order. Describes them, what goes between
/// them, and the table in `manifest`, which has the program's arguments and
/// results.
FailureOr<std::vector<OwningOpRef<ModuleOp>>>
outlineTasks(ModuleOp module, ::dist::Manifest &manifest);

/// Numbers communicators, collectives, checks and plans of rows of `task` on
/// from those of the tasks `before`, which have been lowered.
void continueNumbers(ModuleOp before, ModuleOp task);

/// Notes what lowering has made of task `number`: its memory, its constants,
/// which are added to `constants`, and how often its collectives are done.
void noteLowered(ModuleOp task, size_t number, ModuleOp before,
                 SmallVectorImpl<Attribute> &constants,
                 ::dist::Manifest &manifest);

/// Makes one module of lowered tasks: the last one, which has the numbers of
/// all.
OwningOpRef<ModuleOp> joinTasks(std::vector<OwningOpRef<ModuleOp>> tasks);

} // namespace mlir::dist

#endif // DIST_LOWERING_BUNDLE_TASKS_H
