// Ring attention for GPT-2 (Liu et al. 2023): as cp.mlir, but keys and values go round the ranks in place of being
// gathered. llama/ring.mlir says more.
//
//   dist-opt gpt2.mlir --dist-apply-schedule=file=ring.mlir --dist-spmd

dist.mesh @m ["cp" = 4]

dist.schedule @ring on @m {
  dist.shard input "input_ids" [{}, {"cp"}]

  dist.ring "transformer.h.*.attn" over "cp"
}
