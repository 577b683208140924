//===- Passes.td - What is kept in memory ------------------*- tablegen -*-===//
//
// What backward reads of forward is kept until then, or computed again.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_MEMORY_PASSES_TD
#define DIST_PASSES_MEMORY_PASSES_TD

include "mlir/Pass/PassBase.td"

def DistRecompute : Pass<"dist-recompute", "::mlir::ModuleOp"> {
  let summary = "Backward computes again what forward need not keep: level 0 or 3";
  let description = [{
    Of what forward computes and backward reads, the fewest bytes are kept: a
    smallest cut between the two (as AOTAutograd's partitioner finds it), through
    ops that may be repeated. What is not kept is computed again, from what is,
    just before its first use in backward. The same ops are repeated in the same
    order on all devices, random numbers by the same keys: no result changes.

    `what=cheap` repeats ops that work element by element or only move data; never a
    product (contraction, convolution, attention), a reduction, a loop, or what is
    sent. `what=gathers` besides gathers parameters again that are only stored in
    parts (ZeRO-3); those of all layers, of which a loop reads a layer's slice in each
    turn, slice by slice. `what=asked` repeats nothing of its own accord.

    Of a module under `dist.checkpoint` all may be repeated, products and collectives
    too, from what the module is given: values that leave the module are kept where
    something reads them, so that backward goes through one such module at a time.

    ```mlir
    %h = linalg.contract ins(%x, %w) …
    %y = math.tanh %h : tensor<8x16xf32>
    …
    %dw = linalg.contract ins(%y, %dz) … {dist.backward}
    ```
    becomes
    ```mlir
    %h = linalg.contract ins(%x, %w) …
    %y = math.tanh %h : tensor<8x16xf32>
    …
    %k = dist.optimization_barrier %h after %dz : tensor<8x16xf32> after tensor<8x4xf32>
    %again = math.tanh %k {dist.backward, dist.recomputed} : tensor<8x16xf32>
    %dw = linalg.contract ins(%again, %dz) … {dist.backward}
    ```
  }];
  let dependentDialects = ["::mlir::dist::DistDialect"];
  let options = [
    Option<"what", "what", "std::string", "\"cheap\"",
           "What is repeated: asked, cheap, or gathers">
  ];
}

#endif // DIST_PASSES_MEMORY_PASSES_TD
