// Ring attention for LLaMA, as ring.mlir, with equally busy ranks: under a causal mask the last rank's queries see all
// keys and the first one's only their own. Ranks r and p - 1 - r exchange half of their queries, and what these have
// seen goes back: on 4 ranks each computes with 2.5 blocks of keys, in place of the last one with 4.
//
//   dist-opt llama.mlir --dist-apply-schedule=file=ring_zigzag.mlir --dist-spmd

dist.mesh @m ["cp" = 4]

dist.schedule @ring on @m {
  dist.shard input "input_ids" [{}, {"cp"}]

  dist.ring "model.layers.*.self_attn" over "cp" zigzag
}
