//===- Allowance.h - What rounding may change -------------------*- C++ -*-===//
//
// How far each element of a result moves when the program to compare with is
// run again with random rounding errors, and what difference that allows:
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

/// How often a program is run with random rounding errors, unless said
/// otherwise.
inline constexpr int64_t kPerturbedRuns = 5;

/// Of one result.
struct Spread {
  dist_dtype dtype = DIST_F32;
  /// Of each element the largest distance of a perturbed run's value from the
  /// expected one; infinite where either is not finite.
  std::vector<double> distances;

  /// What a value may differ by; integers by no more than they do in perturbed
  /// runs.
  double allowed(int64_t position, double expected) const;
  /// Whether rounding alone decides the element: no digit of it is certain; of
  /// an integer, whether it moves at all.
  bool isUndetermined(int64_t position, double expected) const;
};

/// A program's results, and how far rounding moves them.
struct Expected {
  RunResult results;
  std::vector<Spread> spreads; // of each result; empty without perturbed runs
  /// Perturbed runs that ended with an error, or that did not end, of how many:
  /// these are left out. And why, of the last.
  int64_t failedRuns = 0, runs = 0;
  std::string failure;
};

/// Runs a program of one rank as it is; and where it is there, `perturbed`, the
/// same program compiled to be perturbed (LowerOptions), `runs` times with
/// random rounding errors, and a few times with large ones, for what jumps.
/// These are the same on every call. The two may be one. Throws Error, also if
/// no perturbed run ends well.
Expected runExpected(const Program &program, const Program *perturbed,
                     const Inputs &inputs, const RunOptions &options,
                     int64_t runs);

} // namespace dist

#endif // DIST_VERIFY_ALLOWANCE_H
