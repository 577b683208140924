// Ring attention for BERT (Liu et al. 2023): as cp.mlir, but keys and values go round the ranks in place of being
// gathered. llama/ring.mlir says more.
//
//   dist-opt bert.mlir --dist-apply-schedule=file=ring.mlir --dist-spmd

dist.mesh @m ["cp" = 4]

dist.schedule @ring on @m {
  dist.shard input "{input_ids,token_type_ids}" [{}, {"cp"}]

  dist.ring "bert.encoder.layer.*.attention.self" over "cp"
}
