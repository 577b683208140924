//===- Passes.td - From tensors to code for the CPU --------*- tablegen -*-===//
//
// The steps of --dist-lower-cpu, in their order.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_CPU_PASSES_TD
#define DIST_LOWERING_CPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def DistConvertToF64 : Pass<"dist-convert-to-f64", "::mlir::ModuleOp"> {
  let summary = "The same program with all floating-point work in f64";
  let description = [{
    Turns every float type narrower than f64 into f64, constants included, and
    drops the extensions and truncations between them. What remains of a
    difference between two such programs is no rounding of narrow types.

    ```mlir
    %0 = arith.addf %a, %b : f32          // before
    %0 = arith.addf %a, %b : f64          // after
    ```
  }];
}


def DistCpuDecompose : Pass<"dist-cpu-decompose", "::mlir::func::FuncOp"> {
  let summary = "Everything but contractions and shape changes becomes linalg.generic";
  let description = [{
    Gathers become generics that extract elements, concatenations and pads
    insertions into an empty tensor, packing pads, reshapes and transpositions,
    aggregates such as softmax their parts, and named or elementwise ops generics.
    Contractions keep their form.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::affine::AffineDialect", "::mlir::scf::SCFDialect",
                           "::mlir::rt::RtDialect"];
}

def DistCpuBufferize : Pass<"dist-cpu-bufferize", "::mlir::ModuleOp"> {
  let summary = "One-shot bufferization with results in given buffers";
  let description = [{
    The entry function gets a buffer argument for each result, and results are
    computed in place there where possible. Other arguments are read-only.
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::linalg::LinalgDialect"];
}

def DistCpuCarryInPlace : Pass<"dist-cpu-carry-in-place", "::mlir::func::FuncOp"> {
  let summary = "What a loop carries stays in one buffer";
  let description = [{
    A buffer that a loop's iteration makes and the next one reads is copied into
    one that lies beside the loop, so that every allocation has a known life.
    Buffers that are the same in every iteration stay as they are.

    ```mlir
    %0 = scf.for … iter_args(%a = %x) -> (memref<4xf32>) { … scf.yield %new }  // before
    memref.copy %x, %buffer                                                    // after
    scf.for … { … memref.copy %new, %buffer }
    ```
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

def DistCpuSelectContractions : Pass<"dist-cpu-select-contractions", "::mlir::func::FuncOp"> {
  let summary = "Contractions that the runtime has become calls";
  let description = [{
    A linalg op on buffers that is a sum of products by its body and its indexing
    maps becomes `rt.contract`; a zero fill just before it becomes part of the
    call. Types and sizes that the runtime does not do, or not fast, stay loops.
  }];
  let dependentDialects = ["::mlir::rt::RtDialect"];
}

def DistCpuFormKernels : Pass<"dist-cpu-form-kernels", "::mlir::ModuleOp"> {
  let summary = "Runs of linalg ops on buffers become kernels: functions of loops";
  let description = [{
    Neighbouring ops that agree on outer parallel loops, and on how these loops
    walk over the buffers that they share, are computed row by row in one kernel;
    a buffer that only the kernel uses shrinks to one row of it. Kernels take the
    buffers' roots as arguments that do not alias, flattened to one dimension, and
    equal kernels are one function.
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::arith::ArithDialect", "::mlir::affine::AffineDialect",
                           "::mlir::LLVM::LLVMDialect"];
}

def DistCpuPlanMemory : Pass<"dist-cpu-plan-memory", "::mlir::ModuleOp"> {
  let summary = "Every buffer gets its place in one arena";
  let description = [{
    Buffers whose lives do not overlap share memory: best fit over the intervals
    between definition and last use. The entry function takes the arena as its
    last argument; module attribute `rt.arena_bytes` is its size, and
    `rt.live_bytes` the most bytes alive at once.
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect"];
}

def DistCpuExpandMath : Pass<"dist-cpu-expand-math", "::mlir::ModuleOp"> {
  let summary = "Mathematical functions in a form that loops vectorize with";
  let description = [{
    f32 exp, tanh, erf and the like become branch-free polynomials; others are
    calls of the C library, with their vector variants named where it has them.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect", "::mlir::LLVM::LLVMDialect"];
}

def DistCpuConvertToLLVM : Pass<"dist-cpu-convert-to-llvm", "::mlir::ModuleOp"> {
  let summary = "The LLVM dialect, with dist_main as the entry point";
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // DIST_LOWERING_CPU_PASSES_TD
