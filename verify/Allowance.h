//===- Allowance.h - Differences that rounding explains ---------*- C++ -*-===//
//
// How far each element of a result moves when the reference program is run
// again with random rounding errors, and which difference that allows:
// docs/verify.md.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_VERIFY_ALLOWANCE_H
#define DIST_VERIFY_ALLOWANCE_H

#include "dist/Executor.h"
#include "dist/Launcher.h"
#include "dist/Tensor.h"

#include <vector>

namespace dist {

/// The default number of runs with random rounding errors.
inline constexpr int64_t kPerturbedRuns = 5;

/// For one result.
struct Spread {
  dist_dtype dtype = DIST_F32;
  /// For each element the largest distance between a perturbed run's value and
  /// the expected one; infinite if either is not finite.
  std::vector<double> distances;

  /// The difference that a value may have. For integers: the largest in
  /// perturbed runs.
  double allowed(int64_t position, double expected) const;
  /// Whether rounding alone decides the element: no digit of it is certain. For
  /// an integer: whether it moves at all.
  bool isUndetermined(int64_t position, double expected) const;
};

/// A program's results, and how far rounding moves them.
struct Expected {
  RunResult results;
  std::vector<Spread> spreads; // of each result; empty without perturbed runs
  /// The number of perturbed runs, and of those that ended with an error or did
  /// not end: these are left out. And the reason of the last one.
  int64_t failedRuns = 0, runs = 0;
  std::string failure;
};

/// Runs a program of one rank as it is. `perturbed`, if set, is the same
/// program compiled to be perturbed (LowerOptions). It is run `runs` times with
/// random rounding errors, and a few times with large ones, to find
/// discontinuities. The errors are the same on every call. The two programs may
/// be one. Throws Error, also if no perturbed run ends well.
Expected runExpected(const Program &program, const Program *perturbed,
                     const Inputs &inputs, const RunOptions &options,
                     int64_t runs);

} // namespace dist

#endif // DIST_VERIFY_ALLOWANCE_H
