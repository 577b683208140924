// Tensor parallelism for BERT (Megatron-LM, Shoeybi et al. 2019) in its shortest form: two directives a block.
//
// A schedule names modules of the model by their path; `*` is one part of a path and `{a,b}` either of two, so each
// line below speaks about every layer. `column` splits a projection's output features: each rank keeps a quarter of
// the weight and computes a quarter of the features, for q, k and v a quarter of the heads. What follows from it is
// propagated: the projections that come next (attention.output.dense, output.dense) are split by their input features.
// Their results are sums of four parts, which costs one all_reduce each: two a layer.
//
//   dist-opt bert.mlir --dist-apply-schedule=file=tp.mlir --dist-spmd

dist.mesh @m ["tp" = 4]

dist.schedule @tp on @m {
  dist.shard "bert.encoder.layer.*.attention.self.{query,key,value}" column over "tp"
  dist.shard "bert.encoder.layer.*.intermediate.dense" column over "tp"
}
