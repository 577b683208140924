// Tensor parallelism for WideResNet with all convolutions of the blocks split, and the classes as well.
//
// The first convolution of a block is split by its output channels, the second by its input channels: its result is a
// sum of four parts, an all_reduce. The third is split by its output channels again, and with it the convolution beside
// it, where there is one, the residual's sum and the relu; the sync gathers what the block gives on.

dist.mesh @m ["tp" = 4]

dist.schedule @tp_full on @m {
  dist.shard "layer*.*.conv1" column over "tp"
  dist.shard "layer*.*.conv2" row over "tp"
  dist.shard "layer*.*.{conv3,downsample.0}" column over "tp"
  dist.sync "layer*.*" fwd_post all_gather dim 1 over "tp"

  dist.shard "fc" column over "tp"
}
