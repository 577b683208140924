// Tensor parallelism for Phi-3 (Megatron-LM, Shoeybi et al. 2019). Queries, keys and values are one projection to blocks
// of 64, 16 and 16 features: `heads` takes it apart, with its weight, and splits each block by its heads. The two heads
// of keys and values are on two of four ranks each, with the queries that use them. gate|up are two blocks of one size.
// Two all_reduce a layer, one in attention, one in the MLP.
//
//   dist-opt phi3.mlir --dist-apply-schedule=file=tp.mlir --dist-spmd

dist.mesh @m ["tp" = 4]

dist.schedule @tp on @m {
  dist.shard "model.layers.*.self_attn" heads over "tp"
  dist.shard "model.layers.*.mlp.gate_up_proj" column over "tp" groups 2
}
