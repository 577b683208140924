// Tensor parallelism for OPT with nothing left to propagation, and the vocabulary split as well.
//
// Inside the blocks this is what tp.mlir leads to. The head is tied to the token embedding: one weight, [vocabulary,
// hidden], used twice. `column` at the head splits its vocabulary. For the head that means a quarter of the logits on
// each rank; `output` only says what propagation does anyway. For the embedding it means that a rank finds only the
// tokens of its quarter, and one more all_reduce adds up what the four found.

dist.mesh @m ["tp" = 4]

dist.schedule @tp_full on @m {
  dist.shard "model.decoder.layers.*.self_attn.{q,k,v}_proj" column over "tp"
  dist.shard "model.decoder.layers.*.self_attn.out_proj" row over "tp"
  dist.shard "model.decoder.layers.*.fc1" column over "tp"
  dist.shard "model.decoder.layers.*.fc2" row over "tp"

  dist.shard "lm_head" column over "tp"
  dist.shard output "logits" [{}, {}, {"tp"}]
}
