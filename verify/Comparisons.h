//===- Comparisons.h - What --verify and --expect do ------------*- C++ -*-===//
//
// Compares the results of a run with those of the program on one rank, and with
// recorded ones, and reports the comparisons.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_VERIFY_COMPARISONS_H
#define DIST_VERIFY_COMPARISONS_H

#include "dist/Launcher.h"
#include "mlir/Support/LLVM.h"
#include "verify/Compare.h"
#include "llvm/ADT/ArrayRef.h"
#include <optional>
#include <string>
#include <vector>

namespace mlir::dist {

/// The comparisons of a result, for the report.
struct Checked {
  std::vector<::dist::Difference> own, f64;
  bool areEqual() const;
};
using Checks = std::vector<Checked>;

/// Which program is compared: the program as it is; or both with all
/// floating-point work in f64.
enum class Precision { Own, F64 };

/// How results are compared and reported.
struct CheckOptions {
  /// The values of --rtol and --atol.
  std::optional<double> relative, absolute;
  bool allowNonfinite = false;
  bool json = false;
  /// Whether devices draw random numbers from streams of their own.
  bool streams = false;
  /// The comparison that --verify asks for.
  Precision precision = Precision::Own;

  /// Whether --verify uses given tolerances, and not those that rounding
  /// explains.
  bool hasTolerance() const { return relative || absolute; }
};

/// Throws Error for a malformed tolerance.
::dist::Tolerance findTolerance(const CheckOptions &options,
                                Precision precision);

/// Compares all results with those of the program on one rank. Results of one
/// name are compared in their order.
std::vector<::dist::Difference> checkReference(const ::dist::Program &program,
                                               const ::dist::RunResult &result,
                                               const ::dist::Expected &single,
                                               const CheckOptions &options,
                                               Precision precision);

/// Adds the comparisons of the program as it is and, if there are any, of the
/// one with all floating-point work in f64 (`wide`), and reports them. The
/// latter tell whether results are equal if rounding decides too much.
void addReference(ArrayRef<::dist::Difference> own,
                  ArrayRef<::dist::Difference> wide,
                  const ::dist::RunResult &result, const CheckOptions &options,
                  Checks &checks);

/// A recorded result, and which result it is compared with.
struct Recorded {
  std::string result, file;
  ::dist::Tensor tensor;
};

/// The results that the values of --expect name.
std::vector<Recorded> readRecorded(ArrayRef<std::string> expect,
                                   const ::dist::Manifest &manifest);

/// Compares results with recorded ones. These may be of a wider type.
void checkRecorded(const ::dist::Program &program,
                   const ::dist::RunResult &result, ArrayRef<Recorded> recorded,
                   const CheckOptions &options, Checks &checks);

/// The last line of --json; `predicted` is a machine model's estimate for the
/// seconds of a step.
void reportJson(const ::dist::Program &program, const ::dist::RunResult &result,
                const Checks &checks, bool ok, int64_t leftOut,
                std::optional<double> predicted);

} // namespace mlir::dist

#endif // DIST_VERIFY_COMPARISONS_H
