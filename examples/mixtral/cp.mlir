// Context parallelism for Mixtral (Megatron-LM's all-gather form; Llama Team 2024, section 3.3.2): the sequence is
// sharded everywhere, and each rank's queries attend to all keys and values. These are gathered where the projections
// made them, before a head of them is repeated for two of the queries: two all_gather a layer, each of (p-1)/p of half
// an activation.

dist.mesh @m ["cp" = 4]

dist.schedule @cp on @m {
  dist.shard input "input_ids" [{}, {"cp"}]

  dist.sync "model.layers.*.self_attn.{k,v}_proj" fwd_post all_gather dim 1 over "cp"
}
