// Context parallelism for BERT (Megatron-LM's all-gather form; Llama Team 2024, section 3.3.2): the sequence is sharded
// everywhere, and each rank's queries attend to all keys and values. These are gathered where the projections made
// them: two all_gather a layer, each of (p-1)/p of an activation. All weights are whole.

dist.mesh @m ["cp" = 4]

dist.schedule @cp on @m {
  dist.shard input "{input_ids,token_type_ids}" [{}, {"cp"}]

  dist.sync "bert.encoder.layer.*.attention.self.{key,value}" fwd_post all_gather dim 1 over "cp"
}
