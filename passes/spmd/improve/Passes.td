//===- Passes.td - Fewer and cheaper reshards --------------*- tablegen -*-===//

#ifndef DIST_PASSES_SPMD_IMPROVE_PASSES_TD
#define DIST_PASSES_SPMD_IMPROVE_PASSES_TD

include "mlir/Pass/PassBase.td"

def WholeSumsPass : Pass<"dist-whole-sums", "ModuleOp"> {
  let summary = "Keeps sums over an axis in one piece: level 2";
  let description = [{
    Needs a program of level 2. `--dist-unroll-axis` later lets one device do the
    work of all devices along the axis, in turns. Summing the turns' results would
    add in another order than without turns. So this pass reshards the operands of
    ops that reduce over the axis: they are whole along it, and no sum is left
    pending there. Example: the gradient of a layer's weight is one product over
    all rows. `--dist-spmd=turns=AXIS` runs this pass. `dist.ring` and `dist.graph_halo`
    over the axis are refused, as nothing is sent along it.

    ```mlir
    %g = linalg.contract … ins(%x, %dy : …) {dist.shardings = [#dist.sharding<@m, [{}, {} ], partial = sum {"turn", "dp"}> ]}
    ```
    with `%x` and `%dy` placed as `[{"dp", "turn"}, {} ]` becomes
    ```mlir
    %x1 = dist.reshard %x <@m, [{"dp", "turn"}, {} ]> to <@m, [{"dp"}, {} ]> …
    %dy1 = dist.reshard %dy <@m, [{"dp", "turn"}, {} ]> to <@m, [{"dp"}, {} ]> …
    %g = linalg.contract … ins(%x1, %dy1 : …) {dist.shardings = [#dist.sharding<@m, [{}, {} ], partial = sum {"dp"}> ]}
    ```
  }];
  let options = [
    Option<"axis", "axis", "std::string", "\"turn\"", "The axis">
  ];
  let dependentDialects = ["::mlir::dist::DistDialect"];
}

#endif // DIST_PASSES_SPMD_IMPROVE_PASSES_TD
