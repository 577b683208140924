// Megatron sequence parallelism for T5 1.0 (Korthikanti et al. 2022): as examples/t5/sp.mlir, with a plain MLP. A part
// of a block ends in a reduce_scatter, and begins with an all_gather.

dist.mesh @m ["tp" = 4]

dist.schedule @sp on @m {
  dist.shard "**.{SelfAttention,EncDecAttention}.{q,k,v}" column over "tp"
  dist.shard "**.{SelfAttention,EncDecAttention}.o" row over "tp"
  dist.shard "**.DenseReluDense.wi" column over "tp"
  dist.shard "**.DenseReluDense.wo" row over "tp"

  dist.sync "**.{SelfAttention,EncDecAttention}.o" fwd_post reduce_scatter dim 1 over "tp"
  dist.sync "**.DenseReluDense.wo" fwd_post reduce_scatter dim 1 over "tp"
}
