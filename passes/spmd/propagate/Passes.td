//===- Passes.td - Placements along the def-use graph ------*- tablegen -*-===//

#ifndef DIST_PASSES_SPMD_PROPAGATE_PASSES_TD
#define DIST_PASSES_SPMD_PROPAGATE_PASSES_TD

include "mlir/Pass/PassBase.td"

def PropagatePass : Pass<"dist-propagate", "ModuleOp"> {
  let summary = "Spreads the user's placements over the program: level 1 to 2";
  let description = [{
    Needs a program of level 1. Shardings of arguments, constraints and syncs travel
    along the factors of ops, forwards and backwards, until nothing changes. They
    travel first through ops that move data or work elementwise, then through
    contractions, then through the rest. If two shardings conflict, the one that
    keeps more bytes in place wins. Leaves `dist.shardings` on every op, one for
    each result. The result depends neither on the order of ops nor on the number
    of devices. `--dist-insert-reshards` must follow.

    ```mlir
    func.func @f(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@m, [{"dp"}, {} ]>}) {
      %0 = arith.negf %x : tensor<8x4xf32>
    ```
    becomes
    ```mlir
      %0 = arith.negf %x {dist.shardings = [#dist.sharding<@m, [{"dp"}, {} ]>]} : tensor<8x4xf32>
    ```
  }];
  let options = [
    Option<"strict", "strict", "bool", "false",
           "An op without a sharding rule is an error; by default it is replicated">,
  ];
  let dependentDialects = ["::mlir::dist::DistDialect"];
}

def ExplainPass : Pass<"dist-explain", "ModuleOp"> {
  let summary = "Prints where every value's sharding came from, step by step";
  let options = [
    Option<"scope", "scope", "std::string", "\"\"",
           "Only values of ops with this scope">,
  ];
}

#endif // DIST_PASSES_SPMD_PROPAGATE_PASSES_TD
