//===- HostToLLVM.h - The host's half of a program --------------*- C++ -*-===//
//
// What every target's program has on the host: the entry point that the runtime
// calls, loops around kernels and calls of the runtime, in the LLVM dialect.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_HOST_HOSTTOLLVM_H
#define DIST_LOWERING_HOST_HOSTTOLLVM_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::dist {

/// Converts the module, whose memory is planned, to the LLVM dialect:
/// upstream's patterns and those of the rt dialect. An i1 in memory is a byte.
/// Returns the entry function, whose arguments are the rank, the buffers, the
/// arena and the status word; makeEntryPoint is called last. Fails, with an
/// error, if the module has no such function or an op that has no conversion.
FailureOr<LLVM::LLVMFuncOp> convertHostToLLVM(ModuleOp module);

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
