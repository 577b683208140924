// Megatron sequence parallelism for BERT (Korthikanti et al. 2022): tensor parallelism inside attention and MLP, and
// between them the sequence is split, so that norms, residuals and their activations are not kept whole on every rank.
//
// Tensor parallelism ends each half of a block with an all_reduce. `dist.sync … fwd_post reduce_scatter dim 1` says:
// after this module, in the forward direction, leave each rank only its quarter of dimension 1 of the sum, which is
// the sequence of [batch, sequence, hidden]. From there the split sequence travels along the residual and through the
// norm that follows it in BERT, up to the next column-parallel projections, which need all of it: an all_gather is put
// there, one for q, k and v together. So a layer has two reduce_scatter and two all_gather, which together send what
// two all_reduce would.

dist.mesh @m ["tp" = 4]

dist.schedule @sp on @m {
  dist.shard "bert.encoder.layer.*.attention.self.{query,key,value}" column over "tp"
  dist.shard "bert.encoder.layer.*.attention.output.dense" row over "tp"
  dist.shard "bert.encoder.layer.*.intermediate.dense" column over "tp"
  dist.shard "bert.encoder.layer.*.output.dense" row over "tp"

  dist.sync "bert.encoder.layer.*.attention.output.dense" fwd_post reduce_scatter dim 1 over "tp"
  dist.sync "bert.encoder.layer.*.output.dense" fwd_post reduce_scatter dim 1 over "tp"
}
