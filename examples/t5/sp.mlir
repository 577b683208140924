// Megatron sequence parallelism for T5 (Korthikanti et al. 2022): tensor parallelism inside attention and MLP, and
// between them both sequences, the encoder's and the decoder's, are split.
//
// A part of a block ends in a reduce_scatter, and begins with an all_gather: two of each in a block of the encoder,
// three in one of the decoder. What the encoder gives to all of the decoder's cross-attentions is gathered once.

dist.mesh @m ["tp" = 4]

dist.schedule @sp on @m {
  dist.shard "**.{SelfAttention,EncDecAttention}.{q,k,v}" column over "tp"
  dist.shard "**.{SelfAttention,EncDecAttention}.o" row over "tp"
  dist.shard "**.DenseReluDense.{wi_0,wi_1}" column over "tp"
  dist.shard "**.DenseReluDense.wo" row over "tp"

  dist.sync "**.{SelfAttention,EncDecAttention}.o" fwd_post reduce_scatter dim 1 over "tp"
  dist.sync "**.DenseReluDense.wo" fwd_post reduce_scatter dim 1 over "tp"
}
