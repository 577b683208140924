// Fully sharded data parallelism for WideResNet (ZeRO-3, Rajbhandari et al. 2020; PyTorch's FSDP).
//
// Each rank computes its part of the batch. Every parameter of the blocks lies in parts on all ranks and is gathered
// before it is used, since its axis also shards the inputs: (p-1)/p of the parameters' bytes, forward.

dist.mesh @m ["dp" = 2]

dist.schedule @fsdp on @m {
  dist.shard input "x" [{"dp"}, {}, {}, {}]

  dist.shard parameter "layer*.*.{conv1,conv2,conv3,downsample.0}.weight" [{"dp"}, {}, {}, {}]
  dist.shard parameter "layer**.bias" [{"dp"}]
}
