//===- Passes.td - From collectives to runtime calls -------*- tablegen -*-===//
//
// What every target's lowering starts with.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_RT_PASSES_TD
#define DIST_LOWERING_RT_PASSES_TD

include "mlir/Pass/PassBase.td"

def DistLowerCollectives : Pass<"dist-lower-collectives", "::mlir::ModuleOp"> {
  let summary = "Collectives of the dist dialect become calls of the runtime";
  let description = [{
    Numbers the groups of mesh axes (`rt.communicators`) and the collectives
    (`rt.collectives`, what the manifest says of each) and writes each collective
    in destination-passing style. `dist.all_slice` becomes a
    `tensor.extract_slice` at this rank's place, since it sends nothing.

    ```mlir
    %1 = dist.all_gather %0 dim 1 over "tp" : tensor<2x4xf32> -> tensor<2x16xf32>
    // becomes
    %d = tensor.empty() : tensor<2x16xf32>
    %1 = rt.collective "all_gather" comm 0 site 0 [2, 16, 1]
        ins(%0 : tensor<2x4xf32>) outs(%d : tensor<2x16xf32>) -> tensor<2x16xf32>
    ```
  }];
  let dependentDialects = ["::mlir::rt::RtDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::arith::ArithDialect"];
}


#endif // DIST_LOWERING_RT_PASSES_TD
