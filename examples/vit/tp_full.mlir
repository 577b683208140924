// Tensor parallelism for ViT with nothing left to propagation, and the patches' convolution and the classes split as
// well.
//
// `column` splits a convolution's output channels as it does a projection's features. The sync gathers the embedded
// patches at once; without it the hidden features would stay split along the residual. Of the logits each rank computes
// a quarter.

dist.mesh @m ["tp" = 4]

dist.schedule @tp_full on @m {
  dist.shard "vit.embeddings.patch_embeddings.projection" column over "tp"
  dist.sync "vit.embeddings.patch_embeddings.projection" fwd_post all_gather dim 1 over "tp"

  dist.shard "vit.layers.*.attention.{q,k,v}_proj" column over "tp"
  dist.shard "vit.layers.*.attention.o_proj" row over "tp"
  dist.shard "vit.layers.*.mlp.fc1" column over "tp"
  dist.shard "vit.layers.*.mlp.fc2" row over "tp"

  dist.shard "classifier" column over "tp"
  dist.shard output "logits" [{}, {"tp"}]
}
