//===- Target.h - A target to compile for -----------------------*- C++ -*-===//
//
// The interface between the lowering and a target. It has passes from linalg
// ops on buffers to kernels, and passes from these to the LLVM dialect of the
// program that the host loads. It also writes the file of that program. The
// passes before these are in Pipeline.h, for all targets. lowering/targets
// lists the targets of this build.
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

/// Called as each stage begins, with its short name, and a description. Timers
/// of the stage nest in the returned scope.
using BeginStage = std::function<TimingScope &(StringRef name, StringRef what)>;

struct CodegenOptions {
  /// The name of a processor of the target; "" or "native" for this machine's.
  std::string cpu;
  /// 0 to 3.
  unsigned optLevel = 3;
  /// Files to write the LLVM IR after, and the assembly, to; "" for none. PTX
  /// is that of a GPU's kernels.
  std::string dumpLLVM, dumpAssembly, dumpPtx;
  /// Each access to memory is checked by AddressSanitizer, whose runtime the
  /// process that loads the code must have.
  bool checksAddresses = false;
  /// May be null.
  BeginStage beginStage;
};

class Target {
public:
  virtual ~Target() = default;

  /// The name in --target, --dist-lower-NAME and a bundle's manifest.
  virtual StringRef getName() const = 0;

  /// The alignment of offsets in the arena, in bytes: at least 64, to which
  /// runtime.h aligns the arguments of dist_main.
  virtual int64_t getAlignment() const = 0;

  /// Whether addKernels takes `rt.scatter`. If not, scatters are loops.
  virtual bool hasScatters() const { return false; }

  /// Whether long sums to a scalar are made of parts (--dist-split-sums).
  virtual bool splitsWholeSums() const { return false; }

  /// Attention of more scores, over all batches, is computed by slices of its
  /// queries, of so many each. 0 for a target that computes it in tiles
  /// (KernelTarget::attentionTiles).
  virtual int64_t mostScoresAtOnce() const { return 0; }

  /// Ops on tensors become calls of the target's library, before they are
  /// decomposed.
  virtual void addTensorCalls(OpPassManager &passes) const = 0;

  /// Linalg ops and copies of buffers become kernels and calls of them;
  /// contractions become calls of the target's library.
  virtual void addKernels(OpPassManager &passes) const = 0;

  /// Replaces addKernels in a program to compare with: each op alone, as
  /// plainly as possible. Sums have the types that addKernels gives them in a
  /// program on `ranks` ranks; for 0, the types of the ops.
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
