//===- Passes.td - From buffers to code for the CPU --------*- tablegen -*-===//
//
// The steps of --dist-lower-cpu that only the CPU has, in their order.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_CPU_PASSES_TD
#define DIST_LOWERING_CPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def DistCpuPlainLoops : Pass<"dist-cpu-plain-loops", "::mlir::ModuleOp"> {
  let summary = "Every linalg op becomes a function of plain loops";
  let description = [{
    Replaces `--dist-select-contractions` and `--dist-form-kernels`, for
    programs to compare with. Each op alone becomes upstream's loops, in a
    function whose arguments have no attributes. Copies become loops too.
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::arith::ArithDialect", "::mlir::affine::AffineDialect",
                           "::mlir::linalg::LinalgDialect"];
}

def DistCpuExpandMath : Pass<"dist-cpu-expand-math", "::mlir::ModuleOp"> {
  let summary = "Mathematical functions in a form that vectorizes";
  let description = [{
    f32 exp, tanh, erf and the like become polynomials without branches. Others
    become calls of the C library, with their vector variants, if it has any.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect", "::mlir::LLVM::LLVMDialect"];
}

def DistCpuExpandBf16 : Pass<"dist-cpu-expand-bf16", "::mlir::ModuleOp"> {
  let summary = "bf16 in f32 and integer arithmetic";
  let description = [{
    Arithmetic on bf16 is done in f32 and rounded after each op, to nearest, ties
    to even. Rounding and extension become integer arithmetic. It vectorizes on
    any processor, and gives the same bits on all.

    ```mlir
    %0 = arith.addf %a, %b : bf16             // before
    %x = arith.extf %a : bf16 to f32          // after, with these expanded too
    %y = arith.extf %b : bf16 to f32
    %z = arith.addf %x, %y : f32
    %0 = arith.truncf %z : f32 to bf16
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::vector::VectorDialect"];
}

def DistCpuConvertToLLVM : Pass<"dist-cpu-convert-to-llvm", "::mlir::ModuleOp"> {
  let summary = "The LLVM dialect, with dist_main as the entry point";
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // DIST_LOWERING_CPU_PASSES_TD
