// Ring attention for LLaMA (Liu et al. 2023): the sequence is sharded everywhere, and keys and values go round the ranks
// in place of being gathered: as many bytes, of which no rank ever holds more than two blocks. What lies between the
// projections and the attention (rotation, heads that are repeated) each rank does for its own block.
//
//   dist-opt llama.mlir --dist-apply-schedule=file=ring.mlir --dist-spmd

dist.mesh @m ["cp" = 4]

dist.schedule @ring on @m {
  dist.shard input "input_ids" [{}, {"cp"}]

  dist.ring "model.layers.*.self_attn" over "cp"
}
