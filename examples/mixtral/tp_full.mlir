// Tensor parallelism for Mixtral with nothing left to propagation, and the vocabulary split as well.
//
// Inside the blocks this is what tp.mlir leads to; the router (mlp.gate) is small and stays whole. Embedding and head
// are weights of their own. A rank finds only the tokens of its quarter of the vocabulary, and one more all_reduce adds
// up what the four found; a quarter of the logits is computed on each.

dist.mesh @m ["tp" = 4]

dist.schedule @tp_full on @m {
  dist.shard "model.layers.*.self_attn.{q,k,v}_proj" column over "tp"
  dist.shard "model.layers.*.self_attn.o_proj" row over "tp"
  dist.shard parameter "model.layers.*.mlp.experts.gate_up_proj" [{}, {"tp"} groups 2, {}]
  dist.shard parameter "model.layers.*.mlp.experts.down_proj" [{}, {}, {"tp"}]

  dist.shard parameter "model.embed_tokens.weight" [{"tp"}, {}]
  dist.shard "lm_head" column over "tp"
  dist.shard output "logits" [{}, {}, {"tp"}]
}
