//===- Passes.td - Attention by rings ----------------------*- tablegen -*-===//

#ifndef DIST_PASSES_RINGS_PASSES_TD
#define DIST_PASSES_RINGS_PASSES_TD

include "mlir/Pass/PassBase.td"

def PlanRingsPass : Pass<"dist-plan-rings", "ModuleOp"> {
  let summary = "Which blocks of keys go round for whom: level 2";
  let description = [{
    For attention in modules that `dist.ring` names, whose queries are sharded over
    just the ring's axes: which blocks of keys a mask that hangs on places alone, computed
    or constant, leaves each half of the queries of which device. It is noted with the
    mesh, for `--dist-ring-attention`. Where the directive says `zigzag`, and the busiest
    device would have no less to do with it, that is taken back, with a remark.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::dist::DistDialect",
    "::mlir::tensor::TensorDialect"];
}

def RingAttentionPass : Pass<"dist-ring-attention", "ModuleOp"> {
  let summary = "Keys and values go round in place of being gathered: level 3";
  let description = [{
    In modules that `dist.ring` names, attention whose keys and values are gathered over
    the ring's axes computes with a device's own block of them, passes it on
    (`dist.send_recv … periodic`), computes with the one it gets, and so on; what queries
    have seen of blocks is put together by the largest x and the sums of numerators
    (Liu et al., "Ring Attention with Blockwise Transformers", 2023). What lies between
    the gathers and the attention (rotations, heads that are repeated) is done block by
    block, before it goes round.

    A block that masks leave a device nothing of (`--dist-plan-rings`) is computed with
    only if some row has seen no key so far. With `zigzag` each device does all that for the
    second half of its own queries, and for the first half of those of the device at the
    other end, which are exchanged before (`dist.collective_permute … reversed`).

    ```mlir
    %k = dist.all_gather %own dim 1 over "cp" …       // before
    … softmax of q and k, times v …
    %next = dist.send_recv %own shift 1 periodic over "cp" …          // after
    %o:3 = dist.attention(%q, %own, …) …
    %more:3 = dist.attention(%q, %next, …) …
    ```
    A module that has no such attention is an error, at the directive.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::dist::DistDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

#endif // DIST_PASSES_RINGS_PASSES_TD
