// Tensor and data parallelism for ViT: two ranks share a layer, and two such pairs the batch.

dist.mesh @m ["dp" = 2, "tp" = 2]

dist.schedule @tp_dp on @m {
  dist.shard input "pixel_values" [{"dp"}, {}, {}, {}]

  dist.shard "vit.layers.*.attention.{q,k,v}_proj" column over "tp"
  dist.shard "vit.layers.*.mlp.fc1" column over "tp"
}
