// Data parallelism for WideResNet: each rank computes its part of the batch, with all of the parameters. Forward,
// nothing is sent; the running statistics of batch norm are constants by then, which the exporters fold into the
// convolutions.

dist.mesh @m ["dp" = 2]

dist.schedule @dp on @m {
  dist.shard input "x" [{"dp"}, {}, {}, {}]
}
