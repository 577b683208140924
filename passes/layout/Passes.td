//===- Passes.td - Orders of dimensions --------------------*- tablegen -*-===//

#ifndef DIST_PASSES_LAYOUT_PASSES_TD
#define DIST_PASSES_LAYOUT_PASSES_TD

include "mlir/Pass/PassBase.td"

def FuseTransposesPass : Pass<"dist-fuse-transposes", "ModuleOp"> {
  let summary = "Collectives on the leading dimension: level 3 to 4";
  let description = [{
    NCCL and MPI cut and join tensors in their leading dimension; in any other one
    blocks are copied together before they are sent, or apart after they came. This
    pass stores tensors in an order of dimensions in which fewer bytes are copied
    so. Ops of linalg write and read any order, by their indexing maps; slices,
    concatenations, reshapes and other collectives between them work in the order
    that they are given. Where that ends, at arguments, results, loops, calls and
    other ops, a `linalg.transpose` with the attribute `dist.packs` is put, if that
    still copies less than before. What is left on another dimension stays as it is.

    ```mlir
    %0 = linalg.contract indexing_maps = [#bsk, #kn, #bsn] … -> tensor<2x8x4xf32>
    %1 = dist.reduce_scatter %0 sum dim 1 over "tp" : tensor<2x8x4xf32> -> tensor<2x4x4xf32>
    %2 = linalg.generic {indexing_maps = [#bsn, #bsn], …} ins(%1 : tensor<2x4x4xf32>) …
    ```
    becomes
    ```mlir
    %0 = linalg.contract indexing_maps = [#bsk, #kn, #sbn] … -> tensor<8x2x4xf32>
    %1 = dist.reduce_scatter %0 sum dim 0 over "tp" : tensor<8x2x4xf32> -> tensor<4x2x4xf32>
    %2 = linalg.generic {indexing_maps = [#sbn, #bsn], …} ins(%1 : tensor<4x2x4xf32>) …
    ```

    An all_to_all of the inverse one is no communication at all, nor is an all_slice
    of the all_gather over the same axes, nor the other way round: they go.

    Nothing is computed otherwise than before. `dist-report` counts what is copied,
    before and after.
  }];
  let dependentDialects = [
    "::mlir::dist::DistDialect", "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"
  ];
}

#endif // DIST_PASSES_LAYOUT_PASSES_TD
