// Fully sharded data parallelism for ViT (ZeRO-3, Rajbhandari et al. 2020; PyTorch's FSDP).
//
// Each rank computes its part of the batch. Every parameter of the layers lies in parts on all ranks and is gathered
// before it is used, since its axis also shards the inputs: (p-1)/p of the parameters' bytes, forward.

dist.mesh @m ["dp" = 2]

dist.schedule @fsdp on @m {
  dist.shard input "pixel_values" [{"dp"}, {}, {}, {}]

  dist.shard parameter "vit.embeddings.patch_embeddings.projection.weight" [{"dp"}, {}, {}, {}]
  dist.shard parameter "vit.layers.*.attention.*.weight" [{"dp"}, {}]
  dist.shard parameter "vit.layers.*.mlp.*.weight" [{"dp"}, {}]
  dist.shard parameter "vit.layers.*.{layernorm_before,layernorm_after}.weight" [{"dp"}]
  dist.shard parameter "vit.layers.**.bias" [{"dp"}]
}
