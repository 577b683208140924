// Tensor parallelism for T5 (Megatron-LM, Shoeybi et al. 2019) in its shortest form: two directives for encoder and
// decoder, self- and cross-attention.
//
// `**` is any run of characters, dots among them. `column` splits a projection's output features: each rank keeps a
// quarter of the weight and computes a quarter of the features, for q, k and v one of the four heads. What follows from
// it is propagated: o and wo are split by their input features, the table of relative positions by heads. A sum of four
// parts costs one all_reduce: two in a block of the encoder, three in one of the decoder.
//
//   dist-opt t5.mlir --dist-apply-schedule=file=tp.mlir --dist-spmd

dist.mesh @m ["tp" = 4]

dist.schedule @tp on @m {
  dist.shard "**.{SelfAttention,EncDecAttention}.{q,k,v}" column over "tp"
  dist.shard "**.DenseReluDense.{wi_0,wi_1}" column over "tp"
}
