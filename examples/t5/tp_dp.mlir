// Tensor and data parallelism for T5: two ranks share a block, and two such pairs the batch.

dist.mesh @m ["dp" = 2, "tp" = 2]

dist.schedule @tp_dp on @m {
  dist.shard input "{input_ids,attention_mask,decoder_input_ids}" [{"dp"}, {}]

  dist.shard "**.{SelfAttention,EncDecAttention}.{q,k,v}" column over "tp"
  dist.shard "**.DenseReluDense.{wi_0,wi_1}" column over "tp"
}
