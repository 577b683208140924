// Data parallelism for ViT: each rank computes its part of the batch, with all of the parameters. Forward, nothing is
// sent.

dist.mesh @m ["dp" = 2]

dist.schedule @dp on @m {
  dist.shard input "pixel_values" [{"dp"}, {}, {}, {}]
}
