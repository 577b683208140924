// Ring attention for GPT-2, as ring.mlir, with equally busy ranks. llama/ring_zigzag.mlir says more.
//
//   dist-opt gpt2.mlir --dist-apply-schedule=file=ring_zigzag.mlir --dist-spmd

dist.mesh @m ["cp" = 4]

dist.schedule @ring on @m {
  dist.shard input "input_ids" [{}, {"cp"}]

  dist.ring "transformer.h.*.attn" over "cp" zigzag
}
