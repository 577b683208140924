//===- OverlapProblem.h - What may run beside what --------------*- C++ -*-===//
//
// The scheduling problem of one block, apart from its solvers: tasks, what they
// need, and on which resource they take how long. Simulation judges an order.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_OVERLAP_OVERLAPPROBLEM_H
#define DIST_PASSES_OVERLAP_OVERLAPPROBLEM_H

#include "passes/overlap/MachineModel.h"
#include <vector>

namespace mlir::dist {

/// An op of the block.
struct OverlapTask {
  enum Kind {
    /// Takes no time: computed where it is used.
    Free,
    Compute,
    Transfer
  };
  Operation *op = nullptr;
  Kind kind = Compute;
  double seconds = 0;
  /// Tasks that come before, each once.
  SmallVector<unsigned, 4> needs;
  SmallVector<unsigned, 4> users;
  /// Of its results, where they are memory of their own.
  double bytes = 0;
  /// Of a transfer: its communicator, a number, and the links that it takes.
  unsigned comm = 0;
  SmallVector<unsigned, 1> links;
};

struct OverlapProblem {
  /// In the order of the block, without its terminator.
  std::vector<OverlapTask> tasks;
  unsigned numComms = 0, numLinks = 0;
  MachineModel machine;
};

/// All tasks in a new order, and which transfers run on a stream.
struct OverlapOrder {
  SmallVector<unsigned> order;
  std::vector<bool> started;
};

struct OverlapCost {
  double seconds = 0;
  /// The most that is alive at once, beside what lives outside of the block.
  double bytes = 0;
  /// Seconds in which the core waits for links.
  double exposed = 0;
};

OverlapProblem buildProblem(Block &block, MeshOp mesh,
                            const MachineModel &machine);

/// The order as it is, every transfer done where it stands.
OverlapOrder getGivenOrder(const OverlapProblem &problem);

OverlapCost simulate(const OverlapProblem &problem, const OverlapOrder &order);

/// A list schedule in which at most `window` transfers are started and not yet
/// used, unless nothing else can go on.
OverlapOrder listSchedule(const OverlapProblem &problem, unsigned window);

} // namespace mlir::dist

#endif // DIST_PASSES_OVERLAP_OVERLAPPROBLEM_H
