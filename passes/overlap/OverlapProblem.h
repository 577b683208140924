//===- OverlapProblem.h - What may run beside what --------------*- C++ -*-===//
//
// The scheduling problem of one block, separate from its solvers: tasks, their
// dependences, their resources and times. Simulation evaluates an order.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_OVERLAP_OVERLAPPROBLEM_H
#define DIST_PASSES_OVERLAP_OVERLAPPROBLEM_H

#include "passes/cost/StepTime.h"
#include <vector>

namespace mlir::dist {

/// Ops of the block that stay together (KernelUnits.h).
struct OverlapTask {
  enum Kind {
    /// Takes no time: computed where it is used.
    Free,
    Compute,
    Transfer
  };
  /// The directive for a transfer (dist.overlap).
  enum Wish { None, Never, Always };
  SmallVector<Operation *, 1> ops;
  Kind kind = Compute;
  Wish wish = None;
  double seconds = 0;
  /// Tasks that come before, each once.
  SmallVector<unsigned, 4> needs;
  /// The first numReads entries of `needs` are data dependences; the rest only
  /// order.
  unsigned numReads = 0;
  SmallVector<unsigned, 4> users;
  /// Bytes of its results that others use, if they have their own memory; and
  /// the most bytes at once while it is computed.
  double bytes = 0, innerBytes = 0;
  /// For a transfer: the number of its communicator, and its links.
  unsigned comm = 0;
  SmallVector<unsigned, 1> links;
  /// For a loop or a branch: the communicators that are called in it.
  SmallVector<unsigned, 1> innerComms;

  ArrayRef<unsigned> getReads() const {
    return ArrayRef(needs).take_front(numReads);
  }
};

struct OverlapProblem {
  /// In the order of the block, without its terminator.
  std::vector<OverlapTask> tasks;
  unsigned numComms = 0, numLinks = 0;
  /// As in Machine.
  double startSeconds = 0, slowdown = 0;
};

/// All tasks in a new order, and which transfers run on a stream.
struct OverlapOrder {
  SmallVector<unsigned> order;
  std::vector<bool> started;
};

struct OverlapCost {
  double seconds = 0;
  /// The most bytes alive at once, without values from outside of the block.
  double bytes = 0;
  /// Seconds in which the core waits for links, and in which it starts
  /// transfers.
  double exposed = 0, starting = 0;

  /// The time if starts cost half as much again as was measured beside large
  /// products: a gain must not depend on that (docs/internals/overlap.md).
  double getCautious() const { return seconds + starting / 2; }
};

/// The directive for the op's module on the mesh (dist.overlap).
OverlapTask::Wish getWish(Operation *op, MeshOp mesh);
/// The same for {by, chunks} or {by, ring}; null if there are no chunks and no
/// ring.
DictionaryAttr getChunkWish(Operation *op, MeshOp mesh);

/// Communicators have the same numbers in all blocks of a program.
using CommNumbers = DenseMap<Attribute, unsigned>;

OverlapProblem buildProblem(Block &block, MeshOp mesh, StepTimes &times,
                            CommNumbers &comms);

/// The original order, every transfer synchronous.
OverlapOrder getGivenOrder(const OverlapProblem &problem);

OverlapCost simulate(const OverlapProblem &problem, const OverlapOrder &order);

/// Parameters of a list schedule.
struct ListPolicy {
  /// Which of the available computations comes next.
  enum Priority {
    /// The next one in the original order.
    Given,
    /// For the transfer that needs the least computation: what it needs. Links
    /// get work as soon as possible.
    Transfers,
    /// The start of the longest path to the end, transfers included.
    Paths
  };
  /// At most so many transfers are started and not yet used, unless nothing
  /// else can run.
  unsigned window = 1;
  Priority priority = Given;
};

OverlapOrder listSchedule(const OverlapProblem &problem, ListPolicy policy);

/// All that are tried; of equal orders, the first one wins.
SmallVector<ListPolicy> getListPolicies();

} // namespace mlir::dist

#endif // DIST_PASSES_OVERLAP_OVERLAPPROBLEM_H
