//===- Passes.td - Ops in forms that placement can shard ---*- tablegen -*-===//

#ifndef DIST_PASSES_SPMD_PREPARE_PASSES_TD
#define DIST_PASSES_SPMD_PREPARE_PASSES_TD

include "mlir/Pass/PassBase.td"

def DecomposeSoftmaxPass : Pass<"dist-decompose-softmax", "ModuleOp"> {
  let summary = "linalg.softmax as its parts: any level before 2";
  let description = [{
    The largest element of each row, the powers of the differences to it, their
    sum, the quotients. So devices that share out a row combine one element of
    it for the maximum, and one for the sum.

    ```mlir
    %1 = linalg.softmax dimension(1) ins(%x : tensor<4x8xf32>) outs(%0 : tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    becomes
    ```mlir
    %m = linalg.generic … ins(%x : tensor<4x8xf32>) outs(… : tensor<4xf32>)    // maximumf
    %p = linalg.generic … ins(%x, %m : …) outs(… : tensor<4x8xf32>)            // exp(x - m)
    %s = linalg.generic … ins(%p : tensor<4x8xf32>) outs(… : tensor<4xf32>)    // addf
    %1 = linalg.generic … ins(%p, %s : …) outs(%0 : tensor<4x8xf32>)           // divf
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect"
  ];
}

def RecognizeWindowsPass : Pass<"dist-recognize-windows", "ModuleOp"> {
  let summary = "Attention to keys nearby becomes dist.attention: any level before 2";
  let description = [{
    Where masks that hang on places alone, computed or constant, leave each query some
    keys around it, the two contractions and the softmax between them become one
    `dist.attention` with its `window`: devices that share out the sequence then need
    their neighbours' keys and values at the borders, and no others. Whatever else is
    attention stays as it is, and so does what differs where a row sees no key: data that
    may mask the whole window with the least number of its type makes the mean of all
    values of such a row. Programs without a mesh stay as they are.

    Its adjoint becomes one `dist.attention_adjoint` with the same window, where all that
    reads the weights is that (`--dist-form-attention`); in place of a search, what a
    `dist.attention` had for its window before `--dist-differentiate` took it apart.

    ```mlir
    %s = linalg.contract ins(%q, %k) …                 // before
    %x = linalg.generic ins(%s) …                      // i - 63 <= j <= i, or else -inf
    … softmax …
    %o = linalg.contract ins(%p, %v) …
    %o = dist.attention(%q, %k, %v) … window [63, 0]   // after
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::dist::DistDialect",
    "::mlir::tensor::TensorDialect"];
}

def SeparateDimsPass : Pass<"dist-separate-dims", "ModuleOp"> {
  let summary = "Merged dimensions are taken apart where devices share out a minor one unevenly: any level before 2";
  let description = [{
    Of a batch and heads that are merged into one dimension, as in exports that
    call a batched product, the heads can be shared out only in even blocks: 4
    heads on 3 devices could not. Where the operand of a `tensor.collapse_shape`
    is placed so, the linalg ops that read its result, and those that read
    theirs, are rewritten on the dimensions apart, until a `tensor.expand_shape`
    takes them apart itself, or a sum over them is made (a group norm's, of rows
    that devices share out unevenly). Programs whose sizes the mesh divides stay
    as they are, and so do products that sum over a merged dimension.

    ```mlir
    %0 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<2x4x5xf32> into tensor<8x5xf32>
    %1 = linalg.generic … ins(%0 : tensor<8x5xf32>) outs(… : tensor<8x5xf32>)
    %2 = tensor.expand_shape %1 [[0, 1], [2]] output_shape [2, 4, 5] : tensor<8x5xf32> into tensor<2x4x5xf32>
    ```
    becomes, where `%x` has its dimension 1 on an axis of 3 devices,
    ```mlir
    %2 = linalg.generic … ins(%x : tensor<2x4x5xf32>) outs(… : tensor<2x4x5xf32>)
    ```
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"
  ];
}

#endif // DIST_PASSES_SPMD_PREPARE_PASSES_TD
