//===- Passes.td - From buffers to code for the CPU --------*- tablegen -*-===//
//
// The steps of --dist-lower-cpu that are the CPU's own, in their order.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_CPU_PASSES_TD
#define DIST_LOWERING_CPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def DistCpuSelectConvolutions : Pass<"dist-cpu-select-convolutions", "::mlir::func::FuncOp"> {
  let summary = "Convolutions that the runtime has become calls";
  let description = [{
    A linalg op on tensors that is a convolution by its body and its indexing maps
    becomes `rt.convolve`. Zeros padded around its image become the call's; a zero
    fill of its result, a bias, and a sum with a tensor that nobody needs any more
    become part of the call, and so do bounds of a result that is not added to what
    is there (`arith.maximumf` and `arith.minimumf` with constants). Types that the runtime does not do stay loops.
    ```mlir
    %padded = tensor.pad %x low[0, 0, 1, 1] high[0, 0, 1, 1] {...}
    %sum = linalg.conv_2d_nchw_fchw ins(%padded, %w : ...) outs(%zeros : ...)
    // becomes
    %sum = rt.convolve ins(%x, %w : ...) outs(%empty : ...) batch [0, 0] group []
        channel [1, 1] feature [0, 1]
        windows [#rt.window<image 2 kernel 2 out 2 stride 1 dilation 1 low 1>, ...]
    ```
  }];
  let dependentDialects = ["::mlir::rt::RtDialect", "::mlir::tensor::TensorDialect"];
}

def DistCpuSplitWindows : Pass<"dist-cpu-split-windows", "::mlir::func::FuncOp"> {
  let summary = "Windows over a padded image read the image itself";
  let description = [{
    A maximum, a minimum or a sum under windows that move over a padded image, where
    what is padded with is what the result begins with, is split: the places whose
    windows lie within the image, and those at each of its edges, with the taps that
    reach it. No padded copy is made, and no loop asks where it is. More than 32 such
    regions stay as they are.

    A maximum or a minimum under windows of several dimensions goes along the innermost
    one last, on rows that are padded along it, where that combines fewer elements and
    the image is not walked over together with one of a convolution, whose channels will
    lie innermost.
    ```mlir
    %padded = tensor.pad %x low[1] high[0] {...} : tensor<8xf32> to tensor<9xf32>
    %y = linalg.generic (x, t) -> (x * 2 + t) ins(%padded, %taps) outs(%filled) {maximum}
    // becomes
    %first = linalg.generic ins(%x[0 to 2], ...) outs(%filled[0 to 1]) {maximum}
    %rest = linalg.generic ins(%x[1 to 8], ...) outs(%filled[1 to 4]) {maximum}
    ```
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def DistCpuChooseLayouts : Pass<"dist-cpu-choose-layouts", "::mlir::func::FuncOp"> {
  let summary = "Images of convolutions get their channels innermost";
  let description = [{
    Buffers that `rt.convolve` reads or writes are made with the channels innermost
    in memory, which is what the library's code is fast for, and looked at through
    a view with the dimensions as they were. Buffers that linalg ops and copies walk
    over together with them get the same order; arguments, results and what other
    ops read keep theirs. A convolution whose kernel is a parameter is marked
    `constant`: the runtime packs it once.
    ```mlir
    %y = memref.alloc() : memref<1x4x8x8xf32>
    // becomes
    %m = memref.alloc() : memref<1x8x8x4xf32>
    %y = memref.reinterpret_cast %m to offset: [0], sizes: [1, 4, 8, 8],
        strides: [256, 1, 32, 4] : memref<1x8x8x4xf32> to
        memref<1x4x8x8xf32, strided<[256, 1, 32, 4]>>
    ```
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

def DistCpuExpandAttention : Pass<"dist-cpu-expand-attention", "::mlir::ModuleOp"> {
  let summary = "Attention and its adjoint on buffers become loops over tiles";
  let description = [{
    Tiles of queries by keys: their scores, a running maximum and a running sum
    for each query (Milakov, Gimelshein, "Online normalizer calculation for
    softmax", 2018; Dao et al., "FlashAttention", 2022), and what they add to the
    results. The adjoint computes the scores of a tile again, and adds to three
    results. The products of a tile are contractions, what is between them becomes
    one kernel; scores of a tile stay in the second-level cache.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect", "::mlir::math::MathDialect",
                           "::mlir::arith::ArithDialect"];
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
    buffers' roots as arguments, flattened to one dimension and `noalias` where it
    is proved (lowering/buffers/Aliases.h), and equal kernels are one function.
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::arith::ArithDialect", "::mlir::affine::AffineDialect",
                           "::mlir::LLVM::LLVMDialect", "::mlir::vector::VectorDialect"];
}

def DistCpuWidenContractions : Pass<"dist-cpu-widen-contractions", "::mlir::ModuleOp"> {
  let summary = "bf16 contractions are summed in f32, as the library does";
  let description = [{
    For a program on one rank that programs on several are compared with. Where each
    rank's part of a contraction is one that `--dist-cpu-select-contractions` makes a
    call, it is summed in f32 here too, and rounded once; loops round after each
    step. The addition notes how many terms there are (`rt.partial_sums`), as
    ranks also round their part of the sum (`--dist-perturb-rounding`).
  }];
  let options = [Option<"ranks", "ranks", "int64_t", "1",
                        "Ranks of the programs that are compared">];
  let dependentDialects = ["::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect"];
}

def DistCpuPlainLoops : Pass<"dist-cpu-plain-loops", "::mlir::ModuleOp"> {
  let summary = "Every linalg op becomes a function of plain loops";
  let description = [{
    In place of `--dist-cpu-select-contractions` and `--dist-cpu-form-kernels`, for
    programs to compare with: each op alone in upstream's loops, in a function about
    whose arguments nothing is said. Copies become loops too.
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::arith::ArithDialect", "::mlir::affine::AffineDialect",
                           "::mlir::linalg::LinalgDialect"];
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

def DistCpuExpandBf16 : Pass<"dist-cpu-expand-bf16", "::mlir::ModuleOp"> {
  let summary = "bf16 in f32 and integer arithmetic";
  let description = [{
    Arithmetic on bf16 is done in f32 and rounded after each op, to nearest and
    even; rounding and extending are integer arithmetic, which vectorizes on any
    processor and has the same bits on all.

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
