// Tensor parallelism for OPT (Megatron-LM, Shoeybi et al. 2019) in its shortest form: two directives a block.
//
// `column` splits a projection's output features: each rank keeps a quarter of the weight and computes a quarter of the
// features, for q, k and v a quarter of the heads. What follows from it is propagated: the projections that come next
// (out_proj, fc2) are split by their input features. Their results are sums of four parts, which costs one all_reduce
// each: two a layer.
//
//   dist-opt opt.mlir --dist-apply-schedule=file=tp.mlir --dist-spmd

dist.mesh @m ["tp" = 4]

dist.schedule @tp on @m {
  dist.shard "model.decoder.layers.*.self_attn.{q,k,v}_proj" column over "tp"
  dist.shard "model.decoder.layers.*.fc1" column over "tp"
}
