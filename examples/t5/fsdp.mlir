// Fully sharded data parallelism for T5 (ZeRO-3, Rajbhandari et al. 2020; PyTorch's FSDP).
//
// Each rank computes its part of the batch. Every parameter lies in parts on all ranks and is gathered before it is
// used, since its axis also shards the inputs: (p-1)/p of the parameters' bytes, forward. What encoder, decoder and
// head share is gathered once. `optional`: the dynamo exporter makes constants of the tables of relative positions.

dist.mesh @m ["dp" = 2]

dist.schedule @fsdp on @m {
  dist.shard input "{input_ids,attention_mask,decoder_input_ids}" [{"dp"}, {}]

  dist.shard parameter "encoder.embed_tokens.weight" [{"dp"}, {}]
  dist.shard parameter "**.{SelfAttention,EncDecAttention}.{q,k,v,o}.weight" [{"dp"}, {}]
  dist.shard parameter "**.DenseReluDense.{wi_0,wi_1,wo}.weight" [{"dp"}, {}]
  dist.shard parameter "**.{layer_norm,final_layer_norm}.weight" [{"dp"}]
  dist.shard parameter "**.relative_attention_bias.weight" [{"dp"}, {}] optional
}
