//===- OverlapProblem.h - What may run beside what --------------*- C++ -*-===//
//
// The scheduling problem of one block, apart from its solvers: tasks, what they
// need, and on which resource they take how long. Simulation judges an order.
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
  /// What a schedule says of a transfer (dist.overlap).
  enum Wish { None, Never, Always };
  SmallVector<Operation *, 1> ops;
  Kind kind = Compute;
  Wish wish = None;
  double seconds = 0;
  /// Tasks that come before, each once.
  SmallVector<unsigned, 4> needs;
  /// How many of these, the first, have a result that this one uses.
  unsigned numReads = 0;
  SmallVector<unsigned, 4> users;
  /// Of its results that others use, where they are memory of their own; and at
  /// most at once while it is computed.
  double bytes = 0, innerBytes = 0;
  /// Of a transfer: its communicator, a number, and the links that it takes.
  unsigned comm = 0;
  SmallVector<unsigned, 1> links;
  /// Of a loop or a branch: the communicators that are called within.
  SmallVector<unsigned, 1> innerComms;

  ArrayRef<unsigned> getReads() const {
    return ArrayRef(needs).take_front(numReads);
  }
};

struct OverlapProblem {
  /// In the order of the block, without its terminator.
  std::vector<OverlapTask> tasks;
  unsigned numComms = 0, numLinks = 0;
  /// As Machine has them.
  double startSeconds = 0, slowdown = 0;
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
  /// Seconds in which the core waits for links, and in which it starts
  /// transfers.
  double exposed = 0, starting = 0;

  /// The time if starts cost half as much again as was measured beside large
  /// products: what is to gain by them must not hang on that
  /// (docs/internals/overlap.md).
  double getCautious() const { return seconds + starting / 2; }
};

/// What the mesh says of the op's module (dist.overlap).
OverlapTask::Wish getWish(Operation *op, MeshOp mesh);
/// The same where it wants chunks, {by, chunks}, or a ring, {by, ring}; null
/// elsewhere.
DictionaryAttr getChunkWish(Operation *op, MeshOp mesh);

/// Communicators are numbered alike in all blocks of a program.
using CommNumbers = DenseMap<Attribute, unsigned>;

OverlapProblem buildProblem(Block &block, MeshOp mesh, StepTimes &times,
                            CommNumbers &comms);

/// The order as it is, every transfer done where it stands.
OverlapOrder getGivenOrder(const OverlapProblem &problem);

OverlapCost simulate(const OverlapProblem &problem, const OverlapOrder &order);

/// What a list schedule decides by.
struct ListPolicy {
  /// Of the computations that need not wait.
  enum Priority {
    /// The next one in the order given.
    Given,
    /// Of what the transfer needs that is the least computation away: links
    /// get work as soon as they can.
    Transfers,
    /// What starts the longest path to the end, transfers included.
    Paths
  };
  /// At most so many transfers are started and not yet used, unless nothing
  /// else can go on.
  unsigned window = 1;
  Priority priority = Given;
};

OverlapOrder listSchedule(const OverlapProblem &problem, ListPolicy policy);

/// All that are tried; of equal orders the first counts.
SmallVector<ListPolicy> getListPolicies();

} // namespace mlir::dist

#endif // DIST_PASSES_OVERLAP_OVERLAPPROBLEM_H
