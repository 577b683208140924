// Tensor parallelism for LLaMA (Megatron-LM, Shoeybi et al. 2019) in its shortest form: two directives a block.
//
// A schedule names modules of the model by their path; `*` is one part of a path and `{a,b}` either of two, so each
// line below speaks about every layer. `column` splits a projection's output features: each rank keeps a quarter of
// the weight and computes a quarter of the features. Here that is two of the eight query heads and the one of the
// four key/value heads that these two share, so grouped-query attention needs nothing from another rank. What follows
// from it is propagated: the projections that come next (o_proj, down_proj) are split by their input features. Their
// results are sums of four parts, which costs one all_reduce each: two a layer.
//
//   dist-opt llama.mlir --dist-apply-schedule=file=tp.mlir --dist-spmd

dist.mesh @m ["tp" = 4]

dist.schedule @tp on @m {
  dist.shard "model.layers.*.self_attn.{q,k,v}_proj" column over "tp"
  dist.shard "model.layers.*.mlp.{gate,up}_proj" column over "tp"
}
