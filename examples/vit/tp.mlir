// Tensor parallelism for ViT (Megatron-LM, Shoeybi et al. 2019) in its shortest form: two directives a block.
//
// `heads` splits the projections to q, k and v, and the one back (o_proj), by whole heads: each rank keeps a quarter
// of the weights and computes one of the four heads. (On three ranks two have two heads and the last has none; nothing
// more is sent for that.) `column` splits a projection's output features. What follows from it is propagated: fc2 is
// split by its input features. What o_proj and fc2 make are sums of four parts, which costs one all_reduce each: two a
// layer.
//
//   dist-opt vit.mlir --dist-apply-schedule=file=tp.mlir --dist-spmd

dist.mesh @m ["tp" = 4]

dist.schedule @tp on @m {
  dist.shard "vit.layers.*.attention" heads over "tp"
  dist.shard "vit.layers.*.mlp.fc1" column over "tp"
}
