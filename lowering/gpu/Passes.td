//===- Passes.td - From buffers to code for a GPU ----------*- tablegen -*-===//
//
// The steps of --dist-lower-cuda that only a GPU has, in their order.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_GPU_PASSES_TD
#define DIST_LOWERING_GPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def DistGpuOutlineKernels : Pass<"dist-gpu-outline-kernels", "::mlir::ModuleOp"> {
  let summary = "Kernels go to a module of their own";
  let description = [{
    The bodies of kernels move to the module `@dist_device`. What is left of each
    is a declaration with its number and the shape of its launches. Memory that a
    block's threads share becomes a variable.
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

def DistGpuConvertToLLVM : Pass<"dist-gpu-convert-to-llvm", "::mlir::ModuleOp"> {
  let summary = "The LLVM dialect: the host's half and the device's";
  let description = [{
    On the host calls of kernels become launches (`dist_launch` in runtime.h). On
    the device kernels become NVVM's. A function that has no form there is an
    error at its op.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect"];
}

#endif // DIST_LOWERING_GPU_PASSES_TD
