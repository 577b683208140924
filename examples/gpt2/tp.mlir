// Tensor parallelism for GPT-2 (Megatron-LM, Shoeybi et al. 2019) in its shortest form: two directives a block.
//
// A schedule names modules of the model by their path; `*` is one part of a path, so each line below speaks about
// every layer. `column` splits a projection's output features: each rank keeps a quarter of the weight's columns and
// computes a quarter of the features. That is all a person has to say. What follows from it is propagated: the heads
// and the MLP's hidden features are split too, and so are the input features of the projections that come next
// (attn.c_proj, mlp.c_proj). Their results are sums of four parts, which costs one all_reduce each: two a layer.
//
// c_attn computes q, k and v side by side in one matrix. `groups 3` says so: each of the three blocks is split, so
// that a rank gets the same heads of q, k and v, and not all of q and a bit of k.
//
//   dist-opt gpt2.mlir --dist-apply-schedule=file=tp.mlir --dist-spmd

dist.mesh @m ["tp" = 4]

dist.schedule @tp on @m {
  dist.shard "transformer.h.*.attn.c_attn" column over "tp" groups 3
  dist.shard "transformer.h.*.mlp.c_fc" column over "tp"
}
