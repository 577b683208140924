// Context parallelism for ViT (Megatron-LM's all-gather form; Llama Team 2024, section 3.3.2): the tokens are sharded
// everywhere, and each rank's queries attend to all keys and values. These are gathered where the projections made
// them: two all_gather a layer. Each rank embeds all of the image; `scatter` leaves it its part of the tokens.

dist.mesh @m ["cp" = 4]

dist.schedule @cp on @m {
  dist.sync "vit.embeddings" fwd_post scatter dim 1 over "cp"

  dist.sync "vit.layers.*.attention.{k,v}_proj" fwd_post all_gather dim 1 over "cp"
}
