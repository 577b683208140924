//===- JitProgram.h - A lowered program in this process ---------*- C++ -*-===//
//
// Lowers a module, loads its object code and runs it on the threads backend.
// Arguments are cut and results joined by the generator's Devices, not by the
// manifest and the executor, so that the two are checked against each other.
//
// Forbidden behaviour becomes visible: results and arena hold garbage before
// the run, arguments must be unchanged after it, except those that results
// update, and so must words around every buffer.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_TEST_LOWERING_ORACLE_JITPROGRAM_H
#define DIST_TEST_LOWERING_ORACLE_JITPROGRAM_H

#include "dist/StreamMode.h"
#include "dist/runtime.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "test/generator/Tensor.h"
#include "llvm/ADT/SmallString.h"
#include <functional>
#include <memory>

namespace llvm::orc {
class LLJIT;
} // namespace llvm::orc

namespace mlir::dist::test {

/// A context with all that the lowering needs, for the whole process.
MLIRContext *getLoweringContext();

struct JitOptions {
  unsigned optLevel = 0;
  /// CodegenOptions::checksAddresses.
  bool checksAddresses = false;
  /// Called with every pass, and the op that it is about to run on, which may
  /// be changed.
  std::function<void(StringRef pass, Operation *op)> beforePass;
};

class JitProgram {
public:
  /// Lowers a clone of `module` (level 3, or level 0 for one rank) and loads
  /// its code. Null after an error, which is a diagnostic or in `error`.
  static std::unique_ptr<JitProgram>
  make(ModuleOp module, const JitOptions &options, std::string &error);
  ~JitProgram();

  /// Runs it twice on whole arguments, and gives the whole results. `seed` says
  /// what memory holds before.
  FailureOr<std::vector<Tensor>> run(ArrayRef<Tensor> arguments, uint64_t seed,
                                     std::string &error);

  /// When streams do their work in the runs to come.
  void setStreams(::dist::StreamMode mode) { streams = mode; }
  /// In the runs to come rank 0 runs `other`, which must outlive them; null for
  /// this program.
  void setFirstRank(const JitProgram *other) { firstRank = other; }

  /// Equal code computes equal results.
  StringRef getObjectCode() const { return code; }

private:
  JitProgram() = default;
  FailureOr<std::vector<std::vector<Tensor>>>
  runOnce(ArrayRef<std::vector<Tensor>> inputs, unsigned char fill,
          std::string &error);

  /// The program as it was before, and as the LLVM dialect.
  ModuleOp source;
  OwningOpRef<ModuleOp> lowered;
  llvm::SmallString<0> code;
  std::unique_ptr<llvm::orc::LLJIT> jit;
  dist_main_fn entry = nullptr;
  ::dist::StreamMode streams;
  const JitProgram *firstRank = nullptr;
};

} // namespace mlir::dist::test

#endif // DIST_TEST_LOWERING_ORACLE_JITPROGRAM_H
