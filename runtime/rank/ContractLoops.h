//===- ContractLoops.h - Loops of a contraction as products -----*- C++ -*-===//
//
// Turns the loop table of dist_contract into one matrix product (m, n, k) and
// the loops around it, merging loops that step through memory as one.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_RANK_CONTRACTLOOPS_H
#define DIST_RUNTIME_RANK_CONTRACTLOOPS_H

#include "runtime/rank/Rank.h"

namespace dist {

struct Loop {
  dist_loop_kind kind;
  int64_t extent;
  /// In elements; 0 where the operand does not depend on the loop.
  int64_t a, b, c;
};

struct ContractLoopNest {
  /// The matrix product. A kind of which there is no loop has extent 1.
  Loop m, n, k;
  /// All other loops; those of kind k last.
  std::vector<Loop> around;
  /// No point of c: nothing to do.
  bool empty = false;
  /// No point of k: c is zero (or unchanged when accumulating).
  bool emptySum = false;
  /// batch, m and n loops as given, to visit all of c when emptySum.
  std::vector<Loop> points;

  /// Multiplications and additions.
  double flops() const;
};

/// Throws Error for a malformed table.
ContractLoopNest arrangeLoops(const ContractCall &call);

} // namespace dist

#endif // DIST_RUNTIME_RANK_CONTRACTLOOPS_H
