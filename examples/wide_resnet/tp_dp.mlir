// Tensor and data parallelism for WideResNet: two ranks share a block, and two such pairs the batch.

dist.mesh @m ["dp" = 2, "tp" = 2]

dist.schedule @tp_dp on @m {
  dist.shard input "x" [{"dp"}, {}, {}, {}]

  dist.shard "layer*.*.conv1" column over "tp"
}
