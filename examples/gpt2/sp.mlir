// Megatron sequence parallelism for GPT-2 (Korthikanti et al. 2022): tensor parallelism inside attention and MLP, and
// between them the sequence is split, so that norms, residuals and their activations are not kept whole on every rank.
//
// Tensor parallelism ends each half of a block with an all_reduce. `dist.sync … fwd_post reduce_scatter dim 1` says:
// after this module, in the forward direction, leave each rank only its quarter of dimension 1 of the sum, which is
// the sequence of [batch, sequence, hidden]. From there the split sequence travels along the residual and through the
// norm, up to the next column-parallel projection, which needs all of it: an all_gather is put there. So a layer has
// two reduce_scatter and two all_gather, which together send what two all_reduce would.

dist.mesh @m ["tp" = 4]

dist.schedule @sp on @m {
  dist.shard "transformer.h.*.attn.c_attn" column over "tp" groups 3
  dist.shard "transformer.h.*.attn.c_proj" row over "tp"
  dist.shard "transformer.h.*.mlp.c_fc" column over "tp"
  dist.shard "transformer.h.*.mlp.c_proj" row over "tp"

  dist.sync "transformer.h.*.attn.c_proj" fwd_post reduce_scatter dim 1 over "tp"
  dist.sync "transformer.h.*.mlp.c_proj" fwd_post reduce_scatter dim 1 over "tp"
}
