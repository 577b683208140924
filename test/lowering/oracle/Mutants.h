//===- Mutants.h - Lowered programs with one fact changed -------*- C++ -*-===//
//
// Damage by machine: what a mistake of the lowering would leave behind. A
// comparison that is worth something tells such a program from a right one.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_TEST_LOWERING_ORACLE_MUTANTS_H
#define DIST_TEST_LOWERING_ORACLE_MUTANTS_H

#include "mlir/IR/Operation.h"
#include "test/generator/Check.h"
#include "llvm/ADT/ArrayRef.h"

namespace mlir::dist::test {

struct Mutation {
  /// The kind of fact: map, body, bound, offset, copy, fill, buffer, …
  llvm::StringLiteral kind;
  std::function<void()> apply;
};

/// All facts below `root` that can be changed, at any stage of the lowering.
std::vector<Mutation> findMutations(Operation *root);

/// The passes before which programs are damaged: on tensors, on buffers, as
/// kernels, with every buffer at its place.
llvm::ArrayRef<llvm::StringLiteral> getMutatedStages();

enum class Fate {
  /// There was nothing to change, or what came out of it is no program.
  None,
  /// Told from the interpreter's results by the comparison of the tests.
  Caught,
  /// It is the same object code, or computes the same bits on many more inputs.
  SameCode,
  SameResults,
  /// It computes something else on some of these.
  Missed
};

/// Damages the lowered program of `text` before the pass `stage`. The verdict's
/// pass is the kind of damage; its detail begins with the fate's number.
Verdict checkMutant(llvm::StringRef text, const CheckOptions &options,
                    llvm::StringRef stage);

} // namespace mlir::dist::test

#endif // DIST_TEST_LOWERING_ORACLE_MUTANTS_H
