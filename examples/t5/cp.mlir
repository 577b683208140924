// Context parallelism for T5 (Megatron-LM's all-gather form; Llama Team 2024, section 3.3.2): both sequences are
// sharded everywhere, and each rank's queries attend to all keys and values, in the decoder also to all of the
// encoder's. These are gathered where the projections made them: two all_gather an attention. All weights are whole.

dist.mesh @m ["cp" = 4]

dist.schedule @cp on @m {
  dist.shard input "{input_ids,decoder_input_ids}" [{}, {"cp"}]

  dist.sync "**.{SelfAttention,EncDecAttention}.{k,v}" fwd_post all_gather dim 1 over "cp"
}
