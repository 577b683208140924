// Tensor parallelism for ViT (Megatron-LM, Shoeybi et al. 2019) in its shortest form: two directives a block.
//
// `column` splits a projection's output features: each rank keeps a quarter of the weight and computes a quarter of the
// features, for q, k and v one of the four heads. What follows from it is propagated: the projections that come next
// (o_proj, fc2) are split by their input features. Their results are sums of four parts, which costs one all_reduce
// each: two a layer.
//
//   dist-opt vit.mlir --dist-apply-schedule=file=tp.mlir --dist-spmd

dist.mesh @m ["tp" = 4]

dist.schedule @tp on @m {
  dist.shard "vit.layers.*.attention.{q,k,v}_proj" column over "tp"
  dist.shard "vit.layers.*.mlp.fc1" column over "tp"
}
