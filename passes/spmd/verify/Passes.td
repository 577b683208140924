//===- Passes.td - Checks of placed and SPMD programs ------*- tablegen -*-===//

#ifndef DIST_PASSES_SPMD_VERIFY_PASSES_TD
#define DIST_PASSES_SPMD_VERIFY_PASSES_TD

include "mlir/Pass/PassBase.td"

def VerifyPlacedPass : Pass<"dist-verify-placed", "ModuleOp"> {
  let summary = "Checks a module of level 2";
  let description = [{
    Run by --dist-spmd after --dist-insert-reshards; for modules changed by hand
    and for new passes. A module without placements passes. Each failure is an
    error at the op, with the placements that were judged:

    - (C1) every tensor has a placement: arguments and results of functions
      `dist.sharding`, results of ops an entry of `dist.shardings`; all on one
      mesh. No `dist.sharding_constraint` and no `dist.sync` is left.
    - (C2) the placements of an op's operands and results are those of one
      sharding of its factors; an axis shards one factor at most, and none that
      the op needs whole, nor one whose padding the op does not keep apart.
    - (C3) a reduction is pending in a result where a sharded factor is combined
      into it, or where one is pending in operands and the op commutes with it,
      and nowhere else. What a result with a pending reduction is accumulated
      onto is pending as well, or neutral.
    - (C4) what flows to one place (into, around and out of loops and branches,
      into and out of functions) is placed alike, and complete; but a loop carries
      what is pending in the same way in each round. What a region
      reads at any index, and what unknown functions take, is whole.
    - (C5) a `dist.reshard` starts from its operand's placement and ends at its
      result's.
  }];
  let dependentDialects = ["::mlir::dist::DistDialect"];
}

def VerifySpmdPass : Pass<"dist-verify-spmd", "ModuleOp"> {
  let summary = "Checks a module of level 3";
  let description = [{
    Run by --dist-spmd after --dist-partition. Each failure is an error at the op:

    - (C1) no `dist.reshard`, `dist.sharding_constraint`, `dist.sync` and no
      `dist.shardings` is left; one mesh is in use.
    - (C2) tensors that a function takes and returns have both `dist.sharding` and
      `dist.global_type`, are complete, and have the type of a device's part.
    - (C3) all devices of a group issue the same collectives in the same order:
      none runs under a condition, a number of iterations or in a call that the
      group's devices may see differently. A value may differ along the axes that
      shard it, that its device's coordinates (`dist.axis_index`) or part of a
      constant are of, and where it is computed from such values; all_reduce,
      all_gather and broadcast make it the same again along their axes.

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
