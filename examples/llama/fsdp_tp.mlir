// Fully sharded data parallelism and tensor parallelism for LLaMA on 2 x 2 ranks.
//
// Each rank computes a half of the heads and features of its part of the batch. Of a weight that "tp" splits it stores
// one half of its half, and gathers the other from the rank that has the same features and the other part of the batch:
// (p-1)/p of what "tp" leaves of the parameters' bytes. `{"tp", "dp"}` splits one dimension over both, "tp" outermost.
// To the gathers the two all_reduce a layer are added, which send the part of the batch.

dist.mesh @m ["dp" = 2, "tp" = 2]

dist.schedule @fsdp_tp on @m {
  dist.shard input "{input_ids,attention_mask}" [{"dp"}, {}]

  dist.shard parameter "model.layers.*.self_attn.{q,k,v}_proj.weight" [{"tp", "dp"}, {}]
  dist.shard parameter "model.layers.*.self_attn.o_proj.weight" [{"dp"}, {"tp"}]
  dist.shard parameter "model.layers.*.mlp.{gate,up}_proj.weight" [{"tp", "dp"}, {}]
  dist.shard parameter "model.layers.*.mlp.down_proj.weight" [{"dp"}, {"tp"}]
  dist.shard parameter "model.layers.*.{input,post_attention}_layernorm.weight" [{"dp"}]
  dist.shard parameter "{lm_head,model.embed_tokens}.weight" [{"dp"}, {}]
  dist.shard parameter "model.norm.weight" [{"dp"}]
}
