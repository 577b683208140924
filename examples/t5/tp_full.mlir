// Tensor parallelism for T5 with nothing left to propagation, and the vocabulary split as well.
//
// Inside the blocks this is what tp.mlir leads to. Encoder, decoder and head share one weight, [vocabulary, hidden].
// `column` at the head splits its vocabulary. For the head that means a quarter of the logits on each rank; for the two
// embeddings that a rank finds only the tokens of its quarter, and one more all_reduce each adds up what the four
// found.

dist.mesh @m ["tp" = 4]

dist.schedule @tp_full on @m {
  dist.shard "**.{SelfAttention,EncDecAttention}.{q,k,v}" column over "tp"
  dist.shard "**.{SelfAttention,EncDecAttention}.o" row over "tp"
  dist.shard "**.DenseReluDense.{wi_0,wi_1}" column over "tp"
  dist.shard "**.DenseReluDense.wo" row over "tp"

  dist.shard "lm_head" column over "tp"
  dist.shard output "logits" [{}, {}, {"tp"}]
}
