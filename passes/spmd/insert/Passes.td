//===- Passes.td - Explicit changes of placement -----------*- tablegen -*-===//

#ifndef DIST_PASSES_SPMD_INSERT_PASSES_TD
#define DIST_PASSES_SPMD_INSERT_PASSES_TD

include "mlir/Pass/PassBase.td"

def InsertReshardsPass : Pass<"dist-insert-reshards", "ModuleOp"> {
  let summary = "Makes every disagreement of placements a dist.reshard: level 2";
  let description = [{
    Every op decides which of its factors each axis shards, so that the fewest
    bytes move; operands and results that are placed otherwise are resharded. Pending
    reductions pass through ops that commute with them and are completed once.
    Constraints and syncs are checked, used up, and removed; a sync that the
    placements contradict is an error.

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
