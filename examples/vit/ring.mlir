// Ring attention for ViT (Liu et al. 2023): as cp.mlir, but keys and values go round the ranks in place of being
// gathered. llama/ring.mlir says more.
// No number of ranks divides the 17 places: the last block is shorter.
//
//   dist-opt vit.mlir --dist-apply-schedule=file=ring.mlir --dist-spmd

dist.mesh @m ["cp" = 4]

dist.schedule @ring on @m {
  dist.sync "vit.embeddings" fwd_post scatter dim 1 over "cp"

  dist.ring "vit.layers.*.attention" over "cp"
}
