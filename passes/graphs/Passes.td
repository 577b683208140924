//===- Passes.td - Halos of graphs -------------------------*- tablegen -*-===//

#ifndef DIST_PASSES_GRAPHS_PASSES_TD
#define DIST_PASSES_GRAPHS_PASSES_TD

include "mlir/Pass/PassBase.td"

def GraphHalosPass : Pass<"dist-graph-halos", "ModuleOp"> {
  let summary = "Only rows that indices name are exchanged: level 3";
  let description = [{
    In modules that `dist.graph_halo` names, a `tensor.gather` of rows that were
    gathered over the directive's axes becomes `dist.gather_rows` of the device's own
    block, and a `dist.scatter_add` whose sums are then scattered over these axes
    becomes `dist.reduce_rows`, forward and backward.

    ```mlir
    %all = dist.all_gather %x dim 0 over "gp" : tensor<12x8xf32> -> tensor<24x8xf32>     // before
    %rows = tensor.gather %all[%src] gather_dims([0]) : …
    %sums = dist.scatter_add %m into %zeros[%dst] dims [0] : …
    %y = dist.reduce_scatter %sums sum dim 0 over "gp" : tensor<24x8xf32> -> tensor<12x8xf32>
    %rows = dist.gather_rows %x[%src] dim 0 over "gp" : …                                // after
    %y = dist.reduce_rows %m[%dst] dim 0 over "gp" : …
    ```
    A module of which no lookup is like this is an error, at the directive, and so is
    one whose rows are all gathered for something else as well.
  }];
  let dependentDialects = ["::mlir::dist::DistDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

#endif // DIST_PASSES_GRAPHS_PASSES_TD
