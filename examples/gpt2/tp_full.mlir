// Tensor parallelism for GPT-2 with nothing left to propagation, and the vocabulary split as well.
//
// Inside the blocks this is what tp.mlir leads to. `row` splits a projection's input features; its result is a sum
// of one part a rank, hence the all_reduce after each of the two row-parallel projections.
//
// The head is tied to the token embedding: one weight, [vocabulary, hidden], used twice. `column` at the head splits
// its vocabulary. For the head that means a quarter of the logits on each rank. Without a directive an output stays as
// propagation has it, so `output` only says it; `[{}, {}, {}]` would gather the logits. For the embedding it means that a rank finds only the tokens of its quarter, and one more all_reduce
// adds up what the four found.

dist.mesh @m ["tp" = 4]

dist.schedule @tp_full on @m {
  // Attention: q, k and v side by side, three blocks, each split by heads; then back to the hidden features.
  dist.shard "transformer.h.*.attn.c_attn" column over "tp" groups 3
  dist.shard "transformer.h.*.attn.c_proj" row over "tp"

  // MLP: out to four times the hidden features, and back.
  dist.shard "transformer.h.*.mlp.c_fc" column over "tp"
  dist.shard "transformer.h.*.mlp.c_proj" row over "tp"

  // Embedding and head.
  dist.shard "lm_head" column over "tp"
  dist.shard output "logits" [{}, {}, {"tp"}]
}
