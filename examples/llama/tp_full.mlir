// Tensor parallelism for LLaMA with nothing left to propagation, and the vocabulary split as well.
//
// Inside the blocks this is what tp.mlir leads to. `row` splits a projection's input features; its result is a sum
// of one part a rank, hence the all_reduce after each of the two row-parallel projections.
//
// LLaMA's head is a weight of its own, so the vocabulary is split in two places. A directive for a `parameter` says
// for each of its dimensions over which axes it is split; the embedding is [vocabulary, hidden]. A rank then finds
// only the tokens of its quarter, and one more all_reduce adds up what the four found. A quarter of the logits is
// computed on each rank. Without a directive an output stays as propagation has it, so `output` only says it;
// `[{}, {}, {}]` would gather them.

dist.mesh @m ["tp" = 4]

dist.schedule @tp_full on @m {
  // Attention: q has twice the heads of k and v; all are split by heads.
  dist.shard "model.layers.*.self_attn.q_proj" column over "tp"
  dist.shard "model.layers.*.self_attn.k_proj" column over "tp"
  dist.shard "model.layers.*.self_attn.v_proj" column over "tp"
  dist.shard "model.layers.*.self_attn.o_proj" row over "tp"

  // Gated MLP: two projections out, multiplied with each other, and one back.
  dist.shard "model.layers.*.mlp.gate_proj" column over "tp"
  dist.shard "model.layers.*.mlp.up_proj" column over "tp"
  dist.shard "model.layers.*.mlp.down_proj" row over "tp"

  // Embedding and head.
  dist.shard parameter "model.embed_tokens.weight" [{"tp"}, {}]
  dist.shard "lm_head" column over "tp"
  dist.shard output "logits" [{}, {}, {"tp"}]
}
