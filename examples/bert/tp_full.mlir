// Tensor parallelism for BERT with nothing left to propagation, and the vocabulary split as well.
//
// Inside the blocks this is what tp.mlir leads to. `row` splits a projection's input features; its result is a sum
// of one part a rank, hence the all_reduce after each of the two row-parallel projections.
//
// The head's last projection is tied to the word embedding: one weight, [vocabulary, hidden], used twice. `column` at
// the head splits its vocabulary. For the head that means a quarter of the logits on each rank. Without a directive
// an output stays as propagation has it, so `output` only says it; `[{}, {}, {}]` would gather them. For the embedding it means that a rank finds only the words of its quarter, and
// one more all_reduce adds up what the four found.

dist.mesh @m ["tp" = 4]

dist.schedule @tp_full on @m {
  // Attention: three projections to q, k and v, split by heads, and one back to the hidden features. `*` stays
  // within one part of a path, so layer.*.output.dense below is not layer.*.attention.output.dense.
  dist.shard "bert.encoder.layer.*.attention.self.query" column over "tp"
  dist.shard "bert.encoder.layer.*.attention.self.key" column over "tp"
  dist.shard "bert.encoder.layer.*.attention.self.value" column over "tp"
  dist.shard "bert.encoder.layer.*.attention.output.dense" row over "tp"

  // MLP: out to four times the hidden features, and back.
  dist.shard "bert.encoder.layer.*.intermediate.dense" column over "tp"
  dist.shard "bert.encoder.layer.*.output.dense" row over "tp"

  // Embedding and head. The head's first projection (cls.predictions.transform) is small and stays whole.
  dist.shard "cls.predictions.decoder" column over "tp"
  dist.shard output "logits" [{}, {}, {"tp"}]
}
