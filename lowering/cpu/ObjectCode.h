//===- ObjectCode.h - From the LLVM dialect to a shared object --*- C++ -*-===//
//
// LLVM's optimizer and code generator, and the linker.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_CPU_OBJECTCODE_H
#define DIST_LOWERING_CPU_OBJECTCODE_H

#include "lowering/pipeline/Target.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir::dist {

/// Translates `module` (LLVM dialect) to LLVM IR, optimizes it, generates code
/// and links the shared object `path`. Its folder is a temporary one: a signal
/// may leave other files there. Errors are reported at the module.
LogicalResult emitSharedObject(ModuleOp module, StringRef path,
                               const CodegenOptions &options);

/// The object code that emitSharedObject links, for callers that load it
/// themselves.
LogicalResult emitObject(ModuleOp module, llvm::raw_pwrite_stream &out,
                         const CodegenOptions &options);

/// Registers the translations that emitSharedObject needs.
void registerCodegenTranslations(DialectRegistry &registry);

} // namespace mlir::dist

#endif // DIST_LOWERING_CPU_OBJECTCODE_H
