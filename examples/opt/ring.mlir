// Ring attention for OPT (Liu et al. 2023): as cp.mlir, but keys and values go round the ranks in place of being
// gathered. llama/ring.mlir says more.
//
//   dist-opt opt.mlir --dist-apply-schedule=file=ring.mlir --dist-spmd

dist.mesh @m ["cp" = 4]

dist.schedule @ring on @m {
  dist.shard input "input_ids" [{}, {"cp"}]
  dist.shard input "attention_mask" [{}, {}]

  dist.ring "model.decoder.layers.*.self_attn" over "cp"
}
