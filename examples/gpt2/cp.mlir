// Context parallelism for GPT-2 (Megatron-LM's all-gather form; Llama Team 2024, section 3.3.2): the sequence is
// sharded everywhere, and each rank's queries attend to all keys and values. That is what propagation makes of a split
// sequence: two all_gather a layer, each of (p-1)/p of an activation. q, k and v come out of one projection, so that
// there is no module whose result a sync could gather: of c_attn's it would gather q as well.

dist.mesh @m ["cp" = 4]

dist.schedule @cp on @m {
  dist.shard input "input_ids" [{}, {"cp"}]
}
