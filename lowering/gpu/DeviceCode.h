//===- DeviceCode.h - The file of a program for GPUs ------------*- C++ -*-===//

#ifndef DIST_LOWERING_GPU_DEVICECODE_H
#define DIST_LOWERING_GPU_DEVICECODE_H

#include "lowering/pipeline/Target.h"

namespace mlir::dist {

/// Writes the shared object `path` of a module in the LLVM dialect, whose
/// kernels are in the module kDeviceModule. Besides dist_main it exports
///   const char dist_device_code[]: the kernels, as PTX for sm_80, which every
///     later chip takes;
///   const char dist_kernels[]: of each kernel, by number, a line "NAME BLOCKS
///     THREADS";
///   const char dist_products[]: empty, and there if it has contractions.
/// Errors are reported at the module.
LogicalResult emitDeviceProgram(ModuleOp module, StringRef path,
                                const CodegenOptions &options);

/// What that links (Debian's package libclc-22, OpenCL's functions) calls the
/// function `name` of so many operands of f32 or f64: "_Z3powdd".
std::string getLibraryFunction(StringRef name, Type type, unsigned operands);

} // namespace mlir::dist

#endif // DIST_LOWERING_GPU_DEVICECODE_H
