//===- CheckLowered.h - Compiled programs and the interpreter ---*- C++ -*-===//
//
// The lowering's oracle: a program is placed, lowered, compiled and run on the
// threads backend, and every result compared with what the interpreter says of
// the program as it was written, on one device.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_TEST_LOWERING_ORACLE_CHECKLOWERED_H
#define DIST_TEST_LOWERING_ORACLE_CHECKLOWERED_H

#include "test/generator/Check.h"
#include "test/lowering/oracle/JitProgram.h"

namespace mlir::dist::test {

/// Inputs of a program, and its results as the interpreter has them.
class Expectation {
public:
  /// What steers branches and loops is among the inputs: several go every way.
  /// Of 398 mutants that are wrong, six are right on eight inputs, none on 20.
  static constexpr unsigned kInputs = 20, kPlacedInputs = 2;

  /// Null where the interpreter does not know the program.
  static std::unique_ptr<Expectation> make(ModuleOp module, uint64_t seed,
                                           unsigned count, std::string &error);
  /// What is wrong with a compiled program, if anything: integers must agree
  /// exactly, floats as findDifference says or, where the program `isExact`,
  /// bit by bit.
  std::optional<std::string> findMistake(JitProgram &program,
                                         bool isExact) const;

private:
  uint64_t seed = 0;
  std::vector<std::vector<Tensor>> inputs, results;
};

/// A CheckFunction.
Verdict checkLowered(llvm::StringRef text, const CheckOptions &options);

} // namespace mlir::dist::test

#endif // DIST_TEST_LOWERING_ORACLE_CHECKLOWERED_H
