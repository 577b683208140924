//===- Check.h - One module through the pipeline and compared ---*- C++ -*-===//

#ifndef DIST_TEST_GENERATOR_CHECK_H
#define DIST_TEST_GENERATOR_CHECK_H

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include <functional>
#include <memory>
#include <string>

namespace mlir::dist::test {

enum class Outcome {
  /// The program of many devices computes what that of one does.
  Agrees,
  /// The pipeline refused it, with an error at a place in the module.
  Rejected,
  /// It computes something else, or devices do not agree.
  Wrong,
  /// It failed without an error that has a place, or made an invalid module.
  Broken,
  /// It died, or took too long (told by whoever started the check).
  Crashed,
  Hung,
  /// The test itself is at fault: the module cannot be read or evaluated.
  Invalid,
};
llvm::StringRef getName(Outcome outcome);

struct Verdict {
  Outcome outcome = Outcome::Invalid;
  /// The pass that ran last.
  std::string pass;
  /// Error message or difference; of what agrees, what else there is to say.
  std::string detail;

  bool isFailure() const {
    return outcome != Outcome::Agrees && outcome != Outcome::Rejected;
  }
  /// What failures of one kind have in common: the detail without its numbers.
  std::string getKind() const;
};

struct CheckOptions;
/// Checks the module that the text is.
using CheckFunction =
    std::function<Verdict(llvm::StringRef, const CheckOptions &)>;
Verdict check(llvm::StringRef text, const CheckOptions &options);

struct CheckOptions {
  /// What is checked: by default, what the passes of placement make.
  CheckFunction run = check;
  /// Random values of arguments, and the kind of garbage.
  uint64_t seed = 0;
  /// Whether every pass reads what the one before it printed.
  bool throughText = false;
  /// Also starts again from the program of level 2.
  bool fromLevel2 = false;
  /// Hides sizes from the program, which become known again at level 3.
  bool forgetsSizes = false;
  /// Stores tensors so that collectives are on the leading dimension.
  bool fusesTransposes = false;
  /// Layers that follow each other exchange rows once, wherever they can.
  bool joinsHalos = false;
  /// One axis of the mesh is done by one device in turns.
  bool takesTurns = false;
  /// Floats must agree bit by bit: all that the program computes is exact.
  bool isExact = false;
  /// Told before each pass runs.
  std::function<void(llvm::StringRef)> onPass;
};

void registerDialects(DialectRegistry &registry);
/// A context without threads, so that the process can fork.
std::unique_ptr<MLIRContext> makeContext();

struct CheckCase {
  std::string text;
  CheckOptions options;
};
/// Makes and checks cases 0 to `count` in a process of its own (a new one after
/// each that dies, or is ended after `seconds` of silence), and tells the
/// verdicts.
void checkAllApart(size_t count, unsigned seconds,
                   llvm::function_ref<CheckCase(size_t)> make,
                   llvm::function_ref<void(size_t, const Verdict &)> tell);
/// One module in a process of its own.
Verdict checkApart(llvm::StringRef text, const CheckOptions &options,
                   unsigned seconds);

} // namespace mlir::dist::test

#endif // DIST_TEST_GENERATOR_CHECK_H
