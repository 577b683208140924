//===- Passes.td - Ops in forms that placement can shard ---*- tablegen -*-===//

#ifndef DIST_PASSES_SPMD_PREPARE_PASSES_TD
#define DIST_PASSES_SPMD_PREPARE_PASSES_TD

include "mlir/Pass/PassBase.td"

def DecomposeSoftmaxPass : Pass<"dist-decompose-softmax", "ModuleOp"> {
  let summary = "Splits linalg.softmax into its parts: any level before 2";
  let description = [{
    The parts are the largest element of each row, the exponentials of the
    differences to it, their sum, and the quotients. Devices that shard a row then
    combine one element of it for the maximum, and one for the sum.

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
  let summary = "Attention to nearby keys becomes dist.attention: any level before 2";
  let description = [{
    Needs a program with a mesh; others stay as they are. Looks for attention
    whose masks leave each query only keys near it. The masks must depend only on
    positions, computed or constant. The two contractions, and the softmax between
    them, become one `dist.attention` with this `window`. Devices that shard the
    sequence then need only their neighbours' keys and values at the borders.
    Other attention stays as it is.

    The pass changes nothing where results would differ for a row that sees no
    key. Data may mask the whole window with the smallest number of its type; the
    row's result is then the mean of all values.

    A mask of another number, -1e9 for example, hides keys only from smaller
    scores. It makes a window where the range of scores shows: behind a tanh
    that limits them. Otherwise it does with `assume-masks`, a promise that no
    score is larger than 4000 in magnitude, and that no mask hides all keys from a
    query. Where that would make a window, the
    product of weights and values gets `dist.likely_window`, and a remark says so
    if its operands are gathered (`--dist-insert-reshards`).

    The adjoint becomes one `dist.attention_adjoint` with the same window, if all
    readers of the weights belong to it (`--dist-form-attention`). If
    `--dist-differentiate` decomposed a `dist.attention`, the window of that op is
    taken.

    ```mlir
    %s = linalg.contract ins(%q, %k) …                 // before
    %x = linalg.generic ins(%s) …                      // i - 63 <= j <= i, or else -inf
    … softmax …
    %o = linalg.contract ins(%p, %v) …
    %o = dist.attention(%q, %k, %v) … window [63, 0]   // after
    ```
  }];
  let options = [
    Option<"assumeMasks", "assume-masks", "bool", "false",
           "Scores are at most 4000 in magnitude, and each query sees a key, so "
           "that masks of -1e4 or less hide keys">];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::dist::DistDialect",
    "::mlir::tensor::TensorDialect"];
}

def SeparateDimsPass : Pass<"dist-separate-dims", "ModuleOp"> {
  let summary = "Splits merged dimensions whose minor part is sharded unevenly: any level before 2";
  let description = [{
    Exports that call a batched product merge a batch and heads into one
    dimension. In the merged dimension, heads can be sharded only evenly: 4 heads
    on 3 devices is not possible. This pass looks for a `tensor.collapse_shape`
    whose operand is sharded unevenly. The linalg ops that read its result, and
    their readers, are rewritten on the separate dimensions. That ends at a
    `tensor.expand_shape` that separates them, or at a sum over them (a group norm
    over rows that are sharded unevenly).

    Programs whose sizes the mesh divides stay as they are. So do products that
    sum over a merged dimension.

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
