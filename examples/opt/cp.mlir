// Context parallelism for OPT (Megatron-LM's all-gather form; Llama Team 2024, section 3.3.2): the sequence is sharded
// everywhere, and each rank's queries attend to all keys and values. These are gathered where the projections made
// them: two all_gather a layer, each of (p-1)/p of an activation. All weights are whole, and so is the mask: positions
// are counted in it, so that it would be split with them.

dist.mesh @m ["cp" = 4]

dist.schedule @cp on @m {
  dist.shard input "input_ids" [{}, {"cp"}]
  dist.shard input "attention_mask" [{}, {}]

  dist.sync "model.decoder.layers.*.self_attn.{k,v}_proj" fwd_post all_gather dim 1 over "cp"
}
