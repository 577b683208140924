// Tensor parallelism for WideResNet in its shortest form: one directive.
//
// `column` splits a convolution's output channels as it does a projection's features: each rank keeps a quarter of the
// block's first convolution and computes a quarter of its channels. The second, which has nine tenths of the work, is
// split by its input channels then; its result is a sum of four parts, which costs one all_reduce a block. That is of
// the block's inner width, half of what the block gives on; splitting conv2 and conv3 instead would send twice as much.
//
//   dist-opt wide_resnet.mlir --dist-apply-schedule=file=tp.mlir --dist-spmd

dist.mesh @m ["tp" = 4]

dist.schedule @tp on @m {
  dist.shard "layer*.*.conv1" column over "tp"
}
