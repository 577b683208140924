//===- Checks.h - What --verify and --expect find ---------------*- C++ -*-===//
//
// The results of a run beside those of the program on one rank, and beside
// recorded ones; and the report of it.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_VERIFY_CHECKS_H
#define DIST_VERIFY_CHECKS_H

#include "dist/Launcher.h"
#include "mlir/Support/LLVM.h"
#include "verify/Compare.h"
#include "llvm/ADT/ArrayRef.h"
#include <optional>
#include <string>
#include <vector>

namespace mlir::dist {

/// What the comparisons of a result found, for the report.
struct Checked {
  std::vector<::dist::Difference> own, f64;
  bool areEqual() const;
};
using Checks = std::vector<Checked>;

/// Which comparison of a program is meant: of the program as it is; or of both
/// with all floating-point work in f64.
enum class Precision { Own, F64 };

/// How results are compared and reported.
struct CheckOptions {
  /// What --rtol and --atol say.
  std::optional<double> relative, absolute;
  bool allowNonfinite = false;
  bool json = false;
  /// Whether devices draw random numbers from streams of their own.
  bool streams = false;
  /// Which comparison --verify asks for.
  Precision precision = Precision::Own;

  /// Whether --verify goes by tolerances that are given, not by what rounding
  /// changes.
  bool hasTolerance() const { return relative || absolute; }
};

/// Throws Error for what is no tolerance.
::dist::Tolerance findTolerance(const CheckOptions &options,
                                Precision precision);

/// Compares all results with those of the program on one rank. Results of one
/// name are compared in their order.
std::vector<::dist::Difference> checkReference(const ::dist::Program &program,
                                               const ::dist::RunResult &result,
                                               const ::dist::Expected &single,
                                               const CheckOptions &options,
                                               Precision precision);

/// Adds what was found of the program as it is and, where it was compared, with
/// all floating-point work in f64 (`wide`), and reports it. That tells whether
/// results are the same where rounding decides too much.
void addReference(ArrayRef<::dist::Difference> own,
                  ArrayRef<::dist::Difference> wide,
                  const ::dist::RunResult &result, const CheckOptions &options,
                  Checks &checks);

/// A recorded result, and which one it is of.
struct Recorded {
  size_t result;
  std::string file;
  ::dist::Tensor tensor;
};

/// What the values of --expect name.
std::vector<Recorded> readRecorded(ArrayRef<std::string> expect,
                                   const ::dist::Manifest &manifest);

/// Compares results with recorded ones. These may be of a wider type.
void checkRecorded(const ::dist::Program &program,
                   const ::dist::RunResult &result, ArrayRef<Recorded> recorded,
                   const CheckOptions &options, Checks &checks);

/// The last line of --json; `predicted` are the seconds of a step that a
/// machine's model foresees.
void reportJson(const ::dist::Program &program, const ::dist::RunResult &result,
                const Checks &checks, bool ok, int64_t leftOut,
                std::optional<double> predicted);

} // namespace mlir::dist

#endif // DIST_VERIFY_CHECKS_H
