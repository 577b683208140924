//===- Passes.td - From loops to kernels -------------------*- tablegen -*-===//
//
// What every target does to loops and to calls of its library, in this order.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_KERNELS_PASSES_TD
#define DIST_LOWERING_KERNELS_PASSES_TD

include "mlir/Pass/PassBase.td"

defvar targetOption = Option<"target", "target", "std::string", "\"cpu\"",
                             "Target whose policies decide">;

def DistSelectConvolutions : Pass<"dist-select-convolutions", "::mlir::func::FuncOp"> {
  let summary = "Convolutions become calls of the runtime";
  let description = [{
    Needs tensors. A linalg op whose body and indexing maps are those of a
    convolution becomes `rt.convolve`. The call also does what surrounds it: zeros
    padded around the image, a zero fill of the result, and a bias. It can also
    add to a tensor that has no other use. Bounds of the result (`arith.maximumf`
    and `arith.minimumf` with constants) become part of the call, too, unless the
    result is added to its destination. Types that the runtime does not support
    stay loops.
    ```mlir
    %padded = tensor.pad %x low[0, 0, 1, 1] high[0, 0, 1, 1] {...}
    %sum = linalg.conv_2d_nchw_fchw ins(%padded, %w : ...) outs(%zeros : ...)
    // becomes
    %sum = rt.convolve ins(%x, %w : ...) outs(%empty : ...) batch [0, 0] group []
        channel [1, 1] feature [0, 1]
        windows [#rt.window<image 2 kernel 2 out 2 stride 1 dilation 1 low 1>, ...]
    ```
  }];
  let options = [targetOption];
  let dependentDialects = ["::mlir::rt::RtDialect", "::mlir::tensor::TensorDialect"];
}

def DistSplitWindows : Pass<"dist-split-windows", "::mlir::func::FuncOp"> {
  let summary = "Windows over a padded image read the image itself";
  let description = [{
    Needs tensors. It applies to a maximum, a minimum or a sum in windows that
    move over a padded image, if the padding is the value that the result starts
    from. The op is split into regions: the positions whose windows are within the
    image, and those at each edge, with the taps that reach the image. So no
    padded copy is made, and no loop tests for borders. Ops with more than 32 such
    regions stay as they are.

    A maximum or a minimum in windows of several dimensions may be computed one
    dimension after the other, the innermost last, on rows that are padded along
    it. That is done if it combines fewer elements. It is not done if ops access
    the image together with an image of a convolution: its channels will be
    innermost.
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

def DistExpandAttention : Pass<"dist-expand-attention", "::mlir::ModuleOp"> {
  let summary = "Attention and its adjoint on buffers become loops over tiles";
  let description = [{
    Needs buffers. A tile is a block of queries by a block of keys. For
    each tile the loops compute the scores, update a running maximum and a running
    sum for each query, and add to the results. (Milakov, Gimelshein, "Online
    normalizer calculation for softmax", 2018; Dao et al., "FlashAttention", 2022.) The
    adjoint computes the scores of a tile again, and adds to three results. The
    products of a tile stay contractions; the ops between them become one kernel.
    The scores of a tile fit the second-level cache.
  }];
  let options = [targetOption];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect", "::mlir::math::MathDialect",
                           "::mlir::arith::ArithDialect"];
}

def DistChooseLayouts : Pass<"dist-choose-layouts", "::mlir::func::FuncOp"> {
  let summary = "Images of convolutions get their channels innermost";
  let description = [{
    Needs buffers. Buffers that `rt.convolve` reads or writes are allocated with
    the channels innermost in memory, since the library is fast for that order. A
    view shows the dimensions in the old order. Buffers that linalg ops and copies
    access together with them get the same order. Arguments, results, and buffers
    that other ops read keep theirs. A convolution whose kernel is a parameter is
    marked `constant`: the runtime packs the kernel once.
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

def DistSelectContractions : Pass<"dist-select-contractions", "::mlir::func::FuncOp"> {
  let summary = "Contractions become calls of the runtime";
  let description = [{
    Needs buffers. A linalg op whose body and indexing maps are those of a sum of
    products becomes `rt.contract`. A zero fill just before it becomes part of the
    call. Types and sizes that the runtime does not support, or not fast, stay
    loops.
  }];
  let options = [targetOption];
  let dependentDialects = ["::mlir::rt::RtDialect"];
}

def DistFormKernels : Pass<"dist-form-kernels", "::mlir::ModuleOp"> {
  let summary = "Runs of linalg ops on buffers become kernels: functions of loops";
  let description = [{
    Needs buffers. Neighbouring ops are computed row by row in one kernel if they
    agree on the outer parallel loops, and on how these loops access the buffers
    that they share. A buffer that only the kernel uses shrinks to one row.
    Kernels take the buffers' roots as arguments, flattened to one dimension. They
    are `noalias` if that is proved (lowering/buffers/Aliases.h). Equal kernels
    are one function.
  }];
  let options = [targetOption];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::arith::ArithDialect", "::mlir::affine::AffineDialect",
                           "::mlir::LLVM::LLVMDialect", "::mlir::vector::VectorDialect"];
}

def DistWidenContractions : Pass<"dist-widen-contractions", "::mlir::ModuleOp"> {
  let summary = "bf16 contractions are summed in f32, as the library does";
  let description = [{
    For a program on one rank that is compared with programs on several ranks. If
    each rank's part of a contraction is one that `--dist-select-contractions`
    makes a call, the sum is done in f32 here too, and rounded once. (Loops round
    after each step.) The addition notes the number of terms (`rt.partial_sums`),
    since ranks also round their part of the sum (`--dist-perturb-rounding`).
  }];
  let options = [targetOption,
                 Option<"ranks", "ranks", "int64_t", "1",
                        "Number of ranks of the programs to compare with">];
  let dependentDialects = ["::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect"];
}

#endif // DIST_LOWERING_KERNELS_PASSES_TD
