//===- Passes.td - Halos of graphs -------------------------*- tablegen -*-===//

#ifndef DIST_PASSES_GRAPHS_PASSES_TD
#define DIST_PASSES_GRAPHS_PASSES_TD

include "mlir/Pass/PassBase.td"

def GraphHalosPass : Pass<"dist-graph-halos", "ModuleOp"> {
  let summary = "Exchanges only the rows that indices name: level 3";
  let description = [{
    Needs a program of level 3 whose mesh op notes the `dist.graph_halo`
    directives. In the modules that they name:

    - a `tensor.gather` of rows that were gathered over the directive's axes
      becomes `dist.gather_rows` of the device's own block;
    - a `dist.scatter_add` whose sums are then scattered over these axes becomes
      `dist.reduce_rows`.

    Both apply to forward and backward.

    ```mlir
    %all = dist.all_gather %x dim 0 over "gp" : tensor<12x8xf32> -> tensor<24x8xf32>     // before
    %rows = tensor.gather %all[%src] gather_dims([0]) : …
    %sums = dist.scatter_add %m into %zeros[%dst] dims [0] : …
    %y = dist.reduce_scatter %sums sum dim 0 over "gp" : tensor<24x8xf32> -> tensor<12x8xf32>
    %rows = dist.gather_rows %x[%src] dim 0 over "gp" : …                                // after
    %y = dist.reduce_rows %m[%dst] dim 0 over "gp" : …
    ```
    Two things are an error, at the directive: a module without such a lookup, and
    a module whose rows are all gathered for something else as well.
  }];
  let dependentDialects = ["::mlir::dist::DistDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

#endif // DIST_PASSES_GRAPHS_PASSES_TD
