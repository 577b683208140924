//===- Passes.td - Checks of placed and SPMD programs ------*- tablegen -*-===//

#ifndef DIST_PASSES_SPMD_VERIFY_PASSES_TD
#define DIST_PASSES_SPMD_VERIFY_PASSES_TD

include "mlir/Pass/PassBase.td"

def VerifyPlacedPass : Pass<"dist-verify-placed", "ModuleOp"> {
  let summary = "Checks a module of level 2";
  let description = [{
    `--dist-spmd` runs it after `--dist-insert-reshards`. It also checks modules
    that were changed by hand, and new passes. A module without placements passes.
    Each failure is an error at the op, and names the placements:

    - (C1) every tensor has a placement, all on one mesh: arguments and results of
      functions have `dist.sharding`, results of ops an entry of `dist.shardings`.
      No `dist.sharding_constraint` and no `dist.sync` is left.
    - (C2) the placements of an op's operands and results are those of one
      sharding of its factors. An axis shards at most one factor. It does not
      shard a factor that the op needs whole, nor one whose padding the op would
      mix with data.
    - (C3) a reduction is pending in a result if a sharded factor is combined into
      it, or if one is pending in operands and the op commutes with it. No other
      result has one. If a result with a pending reduction is accumulated onto a
      value, that value is pending as well, or neutral.
    - (C4) all values that flow to one place have the same placement, without
      pending reductions. This holds for values into, around and out of loops and
      branches, and into and out of functions. But a loop may carry a value that
      is pending in the same way in each iteration. Tensors that a region reads at
      any index, and operands of unknown functions, are whole.
    - (C5) a `dist.reshard` starts from its operand's placement and ends at its
      result's.
  }];
  let dependentDialects = ["::mlir::dist::DistDialect"];
}

def VerifySpmdPass : Pass<"dist-verify-spmd", "ModuleOp"> {
  let summary = "Checks a module of level 3";
  let description = [{
    `--dist-spmd` runs it after `--dist-partition`. Each failure is an error at
    the op:

    - (C1) no `dist.reshard`, `dist.sharding_constraint`, `dist.sync` and no
      `dist.shardings` is left; one mesh is in use.
    - (C2) tensors that a function takes and returns have both `dist.sharding` and
      `dist.global_type`, have no pending reduction, and have the type of a
      device's part.
    - (C3) all devices of a group issue the same collectives in the same order. No
      collective is under a condition, in a loop, or in a call that may differ
      between the group's devices.

    For C3, a value may differ along an axis that shards it. So may the device's
    coordinate on the axis (`dist.axis_index`), a part of a constant that the axis
    shards, and all that is computed from such values. The results of all_reduce,
    all_gather and broadcast are equal along their axes.

    Groups, dimensions and sizes of collectives are checked by the collectives.

    ```mlir
    %i = dist.axis_index "tp" on @m
    %c = arith.cmpi eq, %i, %c0 : index
    %1 = scf.if %c -> tensor<4xf32> {
      // error: runs under a condition that differs between devices along "tp"
      %2 = dist.all_reduce %0 sum over "tp" on @m : tensor<4xf32>
    ```
  }];
  let dependentDialects = ["::mlir::dist::DistDialect"];
}

#endif // DIST_PASSES_SPMD_VERIFY_PASSES_TD
