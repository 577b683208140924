//===- Passes.td - Orders of dimensions --------------------*- tablegen -*-===//

#ifndef DIST_PASSES_LAYOUT_PASSES_TD
#define DIST_PASSES_LAYOUT_PASSES_TD

include "mlir/Pass/PassBase.td"

def FuseTransposesPass : Pass<"dist-fuse-transposes", "ModuleOp"> {
  let summary = "Collectives on the leading dimension: level 3 to 4";
  let description = [{
    Needs a program of level 3. NCCL and MPI split and concatenate tensors in
    their leading dimension. In any other dimension, blocks are packed before they
    are sent, and unpacked after they are received. This pass stores tensors with
    another order of dimensions, so that fewer bytes are copied.

    Linalg ops can read and write any order, through their indexing maps. Slices,
    concatenations, reshapes and other collectives between them keep the order
    that they are given. The new order ends at arguments, results, loops, calls
    and other ops. There a `linalg.transpose` with the attribute `dist.packs` is
    inserted, if the program still copies less than before. Other collectives stay
    on their dimension.

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

    Inverse pairs need no communication and are erased: an all_to_all of the
    inverse all_to_all, and all_slice and all_gather over the same axes, in either
    order.

    All results keep their bits. `dist-report` counts the copied bytes.
  }];
  let dependentDialects = [
    "::mlir::dist::DistDialect", "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"
  ];
}

#endif // DIST_PASSES_LAYOUT_PASSES_TD
