// Fully sharded data parallelism for Mixtral (ZeRO-3, Rajbhandari et al. 2020; PyTorch's FSDP).
//
// Each rank computes its part of the batch. Every parameter lies in parts on all ranks, of the experts' parameters some
// experts on each, and is gathered before it is used, since its axis also shards the inputs: (p-1)/p of the parameters'
// bytes, forward.

dist.mesh @m ["dp" = 2]

dist.schedule @fsdp on @m {
  dist.shard input "{input_ids,attention_mask}" [{"dp"}, {}]

  dist.shard parameter "{lm_head,model.embed_tokens}.weight" [{"dp"}, {}]
  dist.shard parameter "model.layers.*.self_attn.*.weight" [{"dp"}, {}]
  dist.shard parameter "model.layers.*.mlp.gate.weight" [{"dp"}, {}]
  dist.shard parameter "model.layers.*.mlp.experts.{gate_up_proj,down_proj}" [{"dp"}, {}, {}]
  dist.shard parameter "model.layers.*.{input,post_attention}_layernorm.weight" [{"dp"}]
  dist.shard parameter "model.norm.weight" [{"dp"}]
}
