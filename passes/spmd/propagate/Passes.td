//===- Passes.td - Placements along the def-use graph ------*- tablegen -*-===//

#ifndef DIST_PASSES_SPMD_PROPAGATE_PASSES_TD
#define DIST_PASSES_SPMD_PROPAGATE_PASSES_TD

include "mlir/Pass/PassBase.td"

def PropagatePass : Pass<"dist-propagate", "ModuleOp"> {
  let summary = "Spreads the user's placements over the program: level 1 to 2";
  let description = [{
    Shardings of arguments, constraints and syncs travel along the factors of ops,
    forwards and backwards, until nothing changes: first through ops that move
    data or work elementwise, then through contractions, then through the rest.
    Where two meet, the one that keeps more bytes in place goes on. Every op gets
    `dist.shardings`, one a result. The outcome depends neither on the order of
    ops nor on the number of devices.

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
           "An op without a sharding rule is an error, not replicated">,
  ];
  let dependentDialects = ["::mlir::dist::DistDialect"];
}

def ExplainPass : Pass<"dist-explain", "ModuleOp"> {
  let summary = "Tells where every value's sharding came from, step by step";
  let options = [
    Option<"scope", "scope", "std::string", "\"\"",
           "Only values of ops with this scope">,
  ];
}

#endif // DIST_PASSES_SPMD_PROPAGATE_PASSES_TD
