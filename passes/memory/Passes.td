//===- Passes.td - What is kept in memory ------------------*- tablegen -*-===//
//
// Values of forward that backward reads are kept until then, or recomputed.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_MEMORY_PASSES_TD
#define DIST_PASSES_MEMORY_PASSES_TD

include "mlir/Pass/PassBase.td"

def DistRecompute : Pass<"dist-recompute", "::mlir::ModuleOp"> {
  let summary = "Backward recomputes what forward need not keep: level 0 or 3";
  let description = [{
    Needs a program of level 0 or 3 whose backward ops have `dist.backward`.
    Chooses which values of forward are kept for backward, so that the fewest
    bytes are kept. That is a minimum cut between the two, through ops that may be
    repeated (as in AOTAutograd's partitioner). Other values are recomputed from
    the kept ones, just before their first use in backward. All devices repeat the
    same ops in the same order, and random numbers by the same keys. So no result
    changes.

    - `what=cheap` repeats ops that work element by element or only move data. It
      never repeats products (contractions, convolutions, attention), reductions,
      loops, or communication.
    - `what=gathers` also gathers again parameters that are stored sharded
      (ZeRO-3). If a loop reads one layer's slice in each iteration, it gathers
      slice by slice.
    - `what=asked` repeats only what `dist.checkpoint` asks for.

    In a module under `dist.checkpoint` all ops may be repeated, products and
    collectives too, from the module's inputs. Values that leave the module and
    are read elsewhere are kept. So backward goes through one such module at a
    time.

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
           "Which ops to repeat: asked, cheap, or gathers">
  ];
}

#endif // DIST_PASSES_MEMORY_PASSES_TD
