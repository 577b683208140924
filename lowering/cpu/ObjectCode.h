//===- ObjectCode.h - From the LLVM dialect to a shared object --*- C++ -*-===//
//
// LLVM's optimizer and code generator, and the linker.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_CPU_OBJECTCODE_H
#define DIST_LOWERING_CPU_OBJECTCODE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/Timing.h"
#include "llvm/Support/raw_ostream.h"
#include <functional>
#include <string>

namespace mlir::dist {

/// Told of each stage as it begins: its short name, and what it does. Timers of
/// the stage nest in the scope that is returned.
using BeginStage = std::function<TimingScope &(StringRef name, StringRef what)>;

struct CodegenOptions {
  /// A processor as `clang -mcpu` knows it; "" or "native" for this machine's.
  std::string cpu;
  /// 0 to 3.
  unsigned optLevel = 3;
  /// Files to write the LLVM IR after, and the assembly, to; "" for none.
  std::string dumpLLVM, dumpAssembly;
  /// Null where nobody wants to know.
  BeginStage beginStage;
};

/// Translates `module` (LLVM dialect) to LLVM IR, optimizes it, generates code
/// and links the shared object `path`. Its folder is a temporary one: a signal
/// may leave other files there. Errors are reported at the module.
LogicalResult emitSharedObject(ModuleOp module, StringRef path,
                               const CodegenOptions &options);

/// The object code that emitSharedObject links, for who loads it himself.
LogicalResult emitObject(ModuleOp module, llvm::raw_pwrite_stream &out,
                         const CodegenOptions &options);

/// Registers the translations that emitSharedObject needs.
void registerCodegenTranslations(DialectRegistry &registry);

} // namespace mlir::dist

#endif // DIST_LOWERING_CPU_OBJECTCODE_H
