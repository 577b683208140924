//===- Passes.td - Fewer and cheaper reshards --------------*- tablegen -*-===//

#ifndef DIST_PASSES_SPMD_IMPROVE_PASSES_TD
#define DIST_PASSES_SPMD_IMPROVE_PASSES_TD

include "mlir/Pass/PassBase.td"

def WholeSumsPass : Pass<"dist-whole-sums", "ModuleOp"> {
  let summary = "No sum over an axis is taken apart: level 2";
  let description = [{
    What the devices along an axis do may be done by one of them in turns
    (`--dist-unroll-axis`). A sum over the turns' results would add in another order
    than without turns. So what reduces over the axis gets its operands whole
    and leaves nothing pending there: of a layer in turns of the batch, the
    gradient of its weight is one product over all rows. `--dist-spmd=turns=AXIS` does
    this between its parts.

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
