// Tensor parallelism for Phi-3 with nothing left to propagation, and the vocabulary split as well. `groups [4, 1, 1]`
// says by hand, for the projection to q|k|v, what `heads` finds by itself (tp.mlir), on as many ranks as there are heads
// of keys and values.
//
//   dist-opt phi3.mlir --dist-apply-schedule=file=tp_full.mlir --dist-spmd

dist.mesh @m ["tp" = 2]

dist.schedule @tp_full on @m {
  // Attention: blocks of 64, 16 and 16 features, each split by heads; then back to the hidden features.
  dist.shard "model.layers.*.self_attn.qkv_proj" column over "tp" groups [4, 1, 1]
  dist.shard "model.layers.*.self_attn.o_proj" row over "tp"

  // Gated MLP: gate and up side by side, and back.
  dist.shard "model.layers.*.mlp.gate_up_proj" column over "tp" groups 2
  dist.shard "model.layers.*.mlp.down_proj" row over "tp"

  // Embedding and head.
  dist.shard parameter "model.embed_tokens.weight" [{"tp"}, {}]
  dist.shard "lm_head" column over "tp"
  dist.shard output "logits" [{}, {}, {"tp"}]
}
