//===- Passes.td - Fewer and cheaper reshards --------------*- tablegen -*-===//

#ifndef DIST_PASSES_SPMD_IMPROVE_PASSES_TD
#define DIST_PASSES_SPMD_IMPROVE_PASSES_TD

include "mlir/Pass/PassBase.td"

class ImproveReshards<string name> : Pass<name, "ModuleOp"> {
  let dependentDialects = ["::mlir::dist::DistDialect"];
}

def CombineSumsPass : ImproveReshards<"dist-combine-sums"> {
  let summary = "Completes sums that are added by one collective: level 2";
  let description = [{
    Needs the output of `--dist-insert-reshards`. Two sums may be pending over the
    same axes and resharded alike, and then only added to each other, perhaps with
    more terms. Their parts are added first, and one reshard completes the result.
    Example: under sequence parallelism, the parallel residual `x + attention(x) +
    mlp(x)` has one `reduce_scatter`, even if the schedule asks for one for each
    module. A reshard that the program had before stays. Leaves a program of
    level 2.

    ```mlir
    %2 = dist.reshard %0 <@m, [{}, {} ], partial = sum {"tp"}> to <@m, [{}, {} ]> cause "a"
    %3 = dist.reshard %1 <@m, [{}, {} ], partial = sum {"tp"}> to <@m, [{}, {} ]> cause "b"
    %4 = linalg.add ins(%2, %3 …)
    ```
    becomes
    ```mlir
    %2 = linalg.add {dist.shardings = [#dist.sharding<@m, [{}, {} ], partial = sum {"tp"}>]} ins(%0, %1 …)
    %3 = dist.reshard %2 <@m, [{}, {} ], partial = sum {"tp"}> to <@m, [{}, {} ]> cause "a; and b"
    ```
  }];
}

def MoveReshardsPass : ImproveReshards<"dist-move-reshards"> {
  let summary = "Reshards values where they are smallest: level 2";
  let description = [{
    Needs the output of `--dist-insert-reshards`. Ops that only move elements, or
    compute them one by one, may be sharded in many ways. Each tree of such ops is
    sharded again if that sends fewer bytes. So a reshard goes before an op that
    repeats, pads or widens the value, or after an op that slices or narrows it.
    What somebody asked for stays (`dist.asked_for`). Leaves a program of level 2.

    ```mlir
    %1 = linalg.broadcast ins(%k : tensor<8x4xf32>) outs(… : tensor<8x2x4xf32>)
    %2 = dist.reshard %1 <@m, [{"x"}, {}, {} ]> to <@m, [{}, {}, {} ]> cause "…"
    ```
    becomes
    ```mlir
    %1 = dist.reshard %k <@m, [{"x"}, {} ]> to <@m, [{}, {} ]> cause "…"
    %2 = linalg.broadcast ins(%1 : tensor<8x4xf32>) outs(… : tensor<8x2x4xf32>)
    ```
  }];
}

def SliceBeforeReshardsPass : ImproveReshards<"dist-slice-before-reshards"> {
  let summary = "Reshards only the slice that an iteration reads: level 2";
  let description = [{
    Needs the output of `--dist-insert-reshards`. A value that is resharded before
    a loop may only be read in slices there, such as the parameters of all layers.
    Then each iteration reshards its slice. No more is sent, and no device holds
    all of the value. What somebody asked for stays (`dist.asked_for`). Leaves a
    program of level 2.

    ```mlir
    %0 = dist.reshard %w <@m, [{}, {"dp"}, {} ]> to <@m, [{}, {}, {} ]> cause "…"
    scf.for %i = %c0 to %c4 step %c1 … {
      %1 = tensor.extract_slice %0[%i, 0, 0] [1, 16, 16] [1, 1, 1] : tensor<4x16x16xf32> to tensor<16x16xf32>
    ```
    becomes
    ```mlir
    scf.for %i = %c0 to %c4 step %c1 … {
      %0 = tensor.extract_slice %w[%i, 0, 0] [1, 16, 16] [1, 1, 1] : tensor<4x16x16xf32> to tensor<16x16xf32>
      %1 = dist.reshard %0 <@m, [{"dp"}, {} ]> to <@m, [{}, {} ]> cause "…"
    ```
  }];
}

def TidyReshardsPass : ImproveReshards<"dist-tidy-reshards"> {
  let summary = "Removes useless reshards: level 2";
  let description = [{
    Needs the output of `--dist-insert-reshards`. Removes reshards, constants and
    empty tensors without users. A constant that is also needed whole is kept
    once; its parts become slices of it. A reshard whose only user is another
    reshard is skipped, unless somebody asked for it (`dist.asked_for`). Leaves a
    program of level 2 without `dist.asked_for`, so it is the last one of
    `--dist-improve-reshards`.

    ```mlir
    %1 = dist.reshard %0 <@m, [{}, {} ], partial = sum {"tp"}> to <@m, [{}, {} ]> cause "a"
    %2 = dist.reshard %1 <@m, [{}, {} ]> to <@m, [{"tp"}, {} ]> cause "b"
    ```
    becomes
    ```mlir
    %2 = dist.reshard %0 <@m, [{}, {} ], partial = sum {"tp"}> to <@m, [{"tp"}, {} ]> cause "a"
    ```
  }];
}

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
