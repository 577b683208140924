//===- CheckSpmdMutants.h - Whether --verify tells damaged programs -------===//
//
// The comparison is that of dist-run --verify: the level-0 program is compiled
// plainly and run with random rounding errors (tools/driver/Allowance.h), and
// what every device holds is compared by tools/driver/Compare.h. What devices
// hold is evaluated by the generator's interpreter.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_TEST_LOWERING_ORACLE_CHECKSPMDMUTANTS_H
#define DIST_TEST_LOWERING_ORACLE_CHECKSPMDMUTANTS_H

#include "mlir/IR/BuiltinOps.h"
#include "test/generator/Check.h"
#include "test/generator/Tensor.h"
#include <map>

namespace mlir::dist::test {

/// What became of a mutant of an SPMD program.
enum class SpmdFate {
  /// The change did not fit, or what came of it is no program.
  None,
  /// It computes other numbers, and the comparison says so.
  Caught,
  /// It does not run to its end.
  Fails,
  /// Equal: once simplified, it is the same text; it computes the same bits on
  /// all of many inputs; or it differs by rounding, in f64 as well.
  SameProgram,
  SameResults,
  Rounding,
  /// It differs by less than roundings of its own type, but --verify=f64 says
  /// so: where a function saturates, for example.
  CaughtInF64,
  /// It computes other numbers, and the comparison does not say so.
  Missed
};
inline constexpr const char *kSpmdFates[] = {
    "none",         "caught",   "fails",         "same program",
    "same results", "rounding", "caught in f64", "missed"};

/// Number of mutants by kind and fate.
using SpmdCounts = std::map<std::pair<std::string, SpmdFate>, unsigned>;
std::string toText(const SpmdCounts &counts);
void addText(SpmdCounts &counts, llvm::StringRef text);

/// A program, and what is made of it for each device.
struct SpmdSubject {
  ModuleOp reference, spmd;
  /// Whole arguments.
  std::function<std::vector<Tensor>(uint64_t seed)> makeArguments;
  uint64_t seed = 0;
  /// How many mutants are made (0 for all), and on how many inputs one must do
  /// as the original to be taken for equal.
  unsigned mutants = 8, inputs = 24;
};

/// Makes mutants and checks them. Broken if the program cannot be compared;
/// Wrong if it is not what it should be before it is changed, or if a mutant is
/// missed. The detail holds the counts as text, and then what was missed.
Verdict checkSpmdMutants(const SpmdSubject &subject);

/// The same for the text of a placed module, as the generator makes them; a
/// CheckFunction.
Verdict checkRandomSpmdMutants(llvm::StringRef text,
                               const CheckOptions &options);

} // namespace mlir::dist::test

#endif // DIST_TEST_LOWERING_ORACLE_CHECKSPMDMUTANTS_H
