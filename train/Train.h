//===- Train.h - dist-run --train -------------------------------*- C++ -*-===//
//
// The loop of steps: their inputs, their messages, and their files.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_TRAIN_TRAIN_H
#define DIST_TRAIN_TRAIN_H

#include "dist/Launcher.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/CommandLine.h"
#include <map>
#include <set>
#include <string>

namespace mlir::dist {

/// One static object of the tool.
struct TrainOptions {
  explicit TrainOptions(llvm::cl::OptionCategory &category);

  /// Throws Error for options that say nothing without --train, or do not go
  /// together; `others` are those of the tool that do not go with it.
  void check(ArrayRef<const llvm::cl::Option *> others) const;
  /// Adds the pass that makes of a program of level 1 one step.
  void addPasses(OpPassManager &passes) const;
  /// Whether there is to be a checkpoint of this step.
  bool isSaved(int64_t step) const;

  llvm::cl::opt<bool> train;
  llvm::cl::opt<int64_t> steps;
  llvm::cl::list<std::string> data;
  llvm::cl::opt<std::string> optimizer, loss, of, target;
  llvm::cl::list<std::string> parameters;
  llvm::cl::opt<std::string> save, resume, curve;
  llvm::cl::opt<int64_t> accumulate, saveEvery, shardSize;
  llvm::cl::opt<uint64_t> seed;
  llvm::cl::opt<bool> inOrder;

  /// Throws Error for options that a step which is made already cannot take.
  void checkMade(llvm::StringRef input);
  /// With all that it was given, for checkpoints.
  std::string getOptimizer() const;

private:
  bool isMade = false;
};

/// Names of arguments that a step has besides parameters and data.
struct StepArguments {
  /// What the optimizer keeps.
  std::set<std::string> states;
  /// Parameters that the optimizer changes, and all that are no buffers.
  std::set<std::string> trained, parameters;
  /// The key of random numbers besides the step; empty if there are no random
  /// numbers.
  std::string seed;
  /// Labels, and of how many classes they are.
  std::map<std::string, int64_t> classes;
  /// The range of integers of inputs, both ends included.
  std::map<std::string, std::pair<int64_t, int64_t>> ranges;
};
StepArguments findStepArguments(ModuleOp module);

/// Trains. `described` says what a step takes and gives, with which all inputs
/// and files are checked before `compile` makes it. `given` are the inputs that
/// are the same in all steps.
void runTraining(const ::dist::Program &described, const TrainOptions &options,
                 const StepArguments &arguments, ::dist::Inputs given,
                 ::dist::RunOptions run,
                 llvm::function_ref<::dist::Program()> compile);

/// What a process does of a run of training that another one leads, which has
/// compiled `program` and sends it inputs and data. `states` are what the
/// optimizer keeps.
void followTraining(const ::dist::Program &program, const TrainOptions &options,
                    const std::set<std::string> &states,
                    ::dist::RunOptions run);

} // namespace mlir::dist

#endif // DIST_TRAIN_TRAIN_H
