//===- Passes.td - Explicit changes of placement -----------*- tablegen -*-===//

#ifndef DIST_PASSES_SPMD_INSERT_PASSES_TD
#define DIST_PASSES_SPMD_INSERT_PASSES_TD

include "mlir/Pass/PassBase.td"

def InsertReshardsPass : Pass<"dist-insert-reshards", "ModuleOp"> {
  let summary = "Turns every disagreement of placements into a dist.reshard: level 2";
  let description = [{
    Needs the output of `--dist-propagate`. For every op it chooses which factor
    each axis shards, so that the fewest bytes move. Operands and results with
    other placements are resharded. Pending reductions pass through ops that
    commute with them, and are completed once. Constraints and syncs are checked
    and removed. A sync that contradicts the placements is an error. Leaves a
    program of level 2. In it, `dist.asked_for` says which placements are the
    user's word. `--dist-improve-reshards` reads that, and should follow.

    ```mlir
    %1 = linalg.matmul … // %x: [{}, {"tp"} ], %w: [{"tp"}, {} ]
    %2 = linalg.generic … %1, %bias
    ```
    becomes
    ```mlir
    %1 = linalg.matmul … {dist.shardings = [#dist.sharding<@m, [{}, {} ], partial = sum {"tp"}>]}
    %r = dist.reshard %1 <@m, [{}, {} ], partial = sum {"tp"}> to <@m, [{}, {} ]> cause "…"
    %2 = linalg.generic … %r, %bias
    ```
  }];
  let dependentDialects = ["::mlir::dist::DistDialect"];
}

#endif // DIST_PASSES_SPMD_INSERT_PASSES_TD
