//===- Target.h - What programs are compiled for ----------------*- C++ -*-===//
//
// All that the lowering asks of a target: passes from linalg ops on buffers to
// its kernels, from these to the LLVM dialect of the program that the host
// loads, and the file of that program. What comes before, Pipeline.h has for
// all targets; lowering/targets lists those of this build.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_PIPELINE_TARGET_H
#define DIST_LOWERING_PIPELINE_TARGET_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"
#include <functional>
#include <string>

namespace mlir::dist {

/// Told of each stage as it begins: its short name, and what it does. Timers of
/// the stage nest in the scope that is returned.
using BeginStage = std::function<TimingScope &(StringRef name, StringRef what)>;

struct CodegenOptions {
  /// A processor as the target knows it; "" or "native" for this machine's.
  std::string cpu;
  /// 0 to 3.
  unsigned optLevel = 3;
  /// Files to write the LLVM IR after, and the assembly, to; "" for none.
  std::string dumpLLVM, dumpAssembly;
  /// Null where nobody wants to know.
  BeginStage beginStage;
};

class Target {
public:
  virtual ~Target() = default;

  /// As --target, --dist-lower-NAME and a bundle's manifest call it.
  virtual StringRef getName() const = 0;

  /// Bytes that places in the arena are multiples of; at least the 64 to which
  /// runtime.h aligns what dist_main is given.
  virtual int64_t getAlignment() const = 0;

  /// Ops on tensors become calls of the target's library, before they are
  /// decomposed.
  virtual void addTensorCalls(OpPassManager &passes) const = 0;

  /// Linalg ops and copies of buffers become kernels and calls of them,
  /// contractions calls of the target's library.
  virtual void addKernels(OpPassManager &passes) const = 0;

  /// In place of addKernels, for a program to compare with: each op alone, as
  /// plainly as the target can. Sums have the types that addKernels gives them
  /// in a program on `ranks` ranks; 0 for those that the ops say.
  virtual void addPlainLoops(OpPassManager &passes, int64_t ranks) const = 0;

  /// Loops, scalars and calls of the runtime become the LLVM dialect, with
  /// dist_main (runtime.h) as the entry point.
  virtual void addCode(OpPassManager &passes) const = 0;

  /// Writes the shared object `path`, with which the host runs a rank. Its
  /// folder is a temporary one: a signal may leave other files there. Errors
  /// are reported at the module.
  virtual LogicalResult emitProgram(ModuleOp module, StringRef path,
                                    const CodegenOptions &options) const = 0;

  /// Registers the target's own passes with dist-opt.
  virtual void registerPasses() const = 0;

  /// Registers the translations that emitProgram needs.
  virtual void registerTranslations(DialectRegistry &registry) const = 0;
};

} // namespace mlir::dist

#endif // DIST_LOWERING_PIPELINE_TARGET_H
