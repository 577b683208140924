// Megatron sequence parallelism for OPT (Korthikanti et al. 2022): tensor parallelism inside attention and MLP, and
// between them the sequence is split, so that norms, residuals and their activations are not kept whole on every rank.
//
// `dist.sync … fwd_post reduce_scatter dim 1` leaves each rank its quarter of the sum's sequence. Up to the next
// column-parallel projections it stays split; there an all_gather is put, one for q, k and v together. So a layer has
// two reduce_scatter and two all_gather, which together send what two all_reduce would.

dist.mesh @m ["tp" = 4]

dist.schedule @sp on @m {
  dist.shard "model.decoder.layers.*.self_attn.{q,k,v}_proj" column over "tp"
  dist.shard "model.decoder.layers.*.self_attn.out_proj" row over "tp"
  dist.shard "model.decoder.layers.*.fc1" column over "tp"
  dist.shard "model.decoder.layers.*.fc2" row over "tp"

  dist.sync "model.decoder.layers.*.self_attn.out_proj" fwd_post reduce_scatter dim 1 over "tp"
  dist.sync "model.decoder.layers.*.fc2" fwd_post reduce_scatter dim 1 over "tp"

  // Positions are counted in the mask, which would be split with them: it is small, and attention needs all of it.
  dist.shard input "attention_mask" [{}, {}]
}
