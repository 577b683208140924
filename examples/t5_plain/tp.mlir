// Tensor parallelism for T5 1.0, whose MLP is two projections with a relu between them: examples/t5/tp.mlir with `wi`
// in place of `{wi_0,wi_1}`. `column` splits output features: for q, k and v a rank has one of four heads. What follows
// is propagated. Two all_reduce in a block of the encoder, three in one of the decoder.
//
//   dist-opt t5_plain.mlir --dist-apply-schedule=file=tp.mlir --dist-spmd

dist.mesh @m ["tp" = 4]

dist.schedule @tp on @m {
  dist.shard "**.{SelfAttention,EncDecAttention}.{q,k,v}" column over "tp"
  dist.shard "**.DenseReluDense.wi" column over "tp"
}
