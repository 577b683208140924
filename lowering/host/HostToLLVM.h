//===- HostToLLVM.h - The host's half of a program --------------*- C++ -*-===//
//
// What every target's program has on the host: the entry point that the runtime
// calls, loops around kernels and calls of the runtime, in the LLVM dialect.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_HOST_HOSTTOLLVM_H
#define DIST_LOWERING_HOST_HOSTTOLLVM_H

#include "lowering/rt/ConvertRtToLLVM.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::dist {

/// Options, and patterns of the dialects that the host and every device have:
/// upstream's, without calls of a library, and those of the rt dialect. An i1
/// in memory is a byte.
LowerToLLVMOptions getLLVMOptions(MLIRContext *context);
void populateCodePatterns(const LLVMTypeConverter &converter,
                          rt::RuntimeSymbols &symbols,
                          RewritePatternSet &patterns);

/// Adds what a target has besides.
using AddPatterns =
    llvm::function_ref<void(const LLVMTypeConverter &, RewritePatternSet &)>;

/// Converts the module, whose memory is planned, to the LLVM dialect. Modules
/// in it, of devices, stay. Returns the entry function, whose arguments are the
/// rank, the buffers, the arena and the status word; makeEntryPoint is called
/// last. Fails, with an error, if the module has no such function or an op that
/// has no conversion.
FailureOr<LLVM::LLVMFuncOp> convertHostToLLVM(ModuleOp module,
                                              rt::RuntimeSymbols &symbols,
                                              AddPatterns addPatterns = {});

/// Fuses each product with the sum that alone reads it, if both may be
/// contracted. LLVM would fuse only those that are neighbours after its
/// vectorizers, so that elements in vectors were rounded otherwise than others.
/// A processor that cannot fuse rounds twice, everywhere.
void fuseProducts(ModuleOp module);

/// Makes `program` void dist_main(dist_rank *rank, void *const *args,
/// void *const *results, void *arena, int64_t *status) (dist/runtime.h). All
/// other functions become internal.
LogicalResult makeEntryPoint(ModuleOp module, LLVM::LLVMFuncOp program);

} // namespace mlir::dist

#endif // DIST_LOWERING_HOST_HOSTTOLLVM_H
