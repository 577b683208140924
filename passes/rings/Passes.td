//===- Passes.td - Attention by rings ----------------------*- tablegen -*-===//

#ifndef DIST_PASSES_RINGS_PASSES_TD
#define DIST_PASSES_RINGS_PASSES_TD

include "mlir/Pass/PassBase.td"

def PlanRingsPass : Pass<"dist-plan-rings", "ModuleOp"> {
  let summary = "Which blocks of keys circulate for which devices: level 2";
  let description = [{
    Needs a program of level 2 whose mesh op notes the `dist.ring` directives. It
    looks at attention in modules that these name, whose queries are sharded over
    exactly the ring's axes. For each device and each half of its queries, it
    finds the blocks of keys that the mask leaves. The mask must depend only on
    positions, computed or constant. The result is noted on the mesh op, for
    `--dist-ring-attention`.

    If the directive says `zigzag`, and the busiest device would not have less
    work with it, the pass drops `zigzag`, with a remark.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::dist::DistDialect",
    "::mlir::tensor::TensorDialect"];
}

def RingAttentionPass : Pass<"dist-ring-attention", "ModuleOp"> {
  let summary = "Attention passes keys and values around and gathers none: level 3";
  let description = [{
    Needs a program of level 3, with the notes of `--dist-plan-rings`. It replaces
    attention, in modules that `dist.ring` names, that gathers keys and values over the
    ring's axes. Each device computes with its own block, passes it on
    (`dist.send_recv … periodic`), computes with the block that it gets, and so
    on. The results of the blocks are combined by the largest x and the sums of
    the numerators (Liu et al., "Ring Attention with Blockwise Transformers",
    2023). Ops between the gathers and the attention (rotary embeddings, repeated
    heads) are done block by block, before a block circulates.

    Of some blocks, the masks leave a device nothing. Such a block is computed
    with only if some row has seen no key so far. With `zigzag`, each device
    computes for the second half of its own queries, and for the first half of the
    queries of the device at the other end. These halves are exchanged before
    (`dist.collective_permute … reversed`).

    ```mlir
    %k = dist.all_gather %own dim 1 over "cp" …       // before
    … softmax of q and k, times v …
    %next = dist.send_recv %own shift 1 periodic over "cp" …          // after
    %o:3 = dist.attention(%q, %own, …) …
    %more:3 = dist.attention(%q, %next, …) …
    ```
    A module without such attention is an error, at the directive.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::dist::DistDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

#endif // DIST_PASSES_RINGS_PASSES_TD
