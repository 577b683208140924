//===- StagePlaces.h - The task of each op of a microbatch ------*- C++ -*-===//
//
// Which stage, and which of its tasks, each op of the loop over microbatches is
// in. The rules are those of --dist-pipeline.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_PIPELINE_STAGEPLACES_H
#define DIST_PASSES_PIPELINE_STAGEPLACES_H

#include "dialects/dist/IR/Pipeline.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::dist {

/// Whether an op takes next to nothing, so that each task that reads it has its
/// own: constants, empty tensors, reshapes, scalars, barriers.
bool isLight(Operation *op);

/// Visits what an op reads; not what a barrier only waits for, an order that
/// tasks have anyway.
void visitValues(Operation *op, function_ref<void(Value)> visit);

/// Likewise, and behind light ops that are `isInside` what these read.
void visitBehindLight(Operation *op, function_ref<bool(Operation *)> isInside,
                      function_ref<void(Value)> visit);

/// What a value is computed from.
enum class Source {
  Free,       // inputs and constants alone
  Parameters, // these and parameters
  Forward,
  Again, // forward, by backward
  Backward
};

/// Which parameters values are computed from that are made before a loop.
class OuterReads {
public:
  OuterReads(func::FuncOp function, scf::ForOp loop);

  /// The numbers of the arguments, in order.
  ArrayRef<unsigned> getParameters(Value value) const {
    auto found = parameters.find(value);
    return found == parameters.end() ? ArrayRef<unsigned>() : found->second;
  }

private:
  llvm::DenseMap<Value, SmallVector<unsigned, 1>> parameters;
};

class StagePlaces {
public:
  StagePlaces(scf::ForOp loop, const OuterReads &outer,
              const PipelineNote &note);

  /// Fails after an error at an op that can be in no stage.
  LogicalResult place();
  /// Finds the stages of carried values, which no other stage may read.
  LogicalResult findHomes();

  int64_t getNumStages() const { return note.stages.size(); }

  /// Tasks of the loop, numbered in program order: all forward ones, then
  /// backward from the last stage on.
  unsigned getTask(TaskKind kind, int64_t stage) const;
  unsigned getNumTasks() const { return 3 * getNumStages(); }
  TaskKind getKind(unsigned task) const;
  int64_t getStage(unsigned task) const;

  /// The tasks that compute an op, in order.
  ArrayRef<unsigned> getTasks(Operation *op) const {
    auto found = tasks.find(op);
    return found == tasks.end() ? ArrayRef<unsigned>() : found->second;
  }
  /// The one from which `task`, which has not the op itself, reads it.
  unsigned getProvider(Operation *op, unsigned task) const;
  /// The stage of an op of forward or backward; 0 for others.
  int64_t getStage(Operation *op) const { return stages.lookup(op); }
  std::optional<int64_t> findStage(Operation *op) const {
    auto found = stages.find(op);
    return found == stages.end() ? std::nullopt : std::optional(found->second);
  }
  /// The stage that a carried value is in.
  int64_t getHome(unsigned carried) const { return homes[carried]; }
  Source getSource(Value value);

private:
  bool isCarried(Value value) const;
  std::optional<int64_t> findListed(Operation *op);
  FailureOr<std::optional<int64_t>> findInside(Operation *op);
  void visitRoots(Operation *op, function_ref<void(Value)> visit);
  SmallVector<Operation *> getReaders(Operation *op) const;
  Source classify(Operation *op);
  LogicalResult placeForward();
  LogicalResult placeBackward();
  void splitBackward();
  void placeOnDemand();

  Block &block;
  scf::ForOp loop;
  const OuterReads &outer;
  const PipelineNote &note;
  llvm::StringMap<int64_t> stageOfModule;
  llvm::DenseMap<StringAttr, std::optional<int64_t>> listed;
  SmallVector<Operation *> ops;
  llvm::DenseMap<Operation *, Source> sources;
  llvm::DenseMap<Operation *, int64_t> stages;
  /// Of backward: what leads to gradients that an earlier stage reads.
  llvm::DenseSet<Operation *> needed;
  llvm::DenseMap<Operation *, SmallVector<unsigned, 2>> tasks;
  SmallVector<int64_t> homes;
};

} // namespace mlir::dist

#endif // DIST_PASSES_PIPELINE_STAGEPLACES_H
