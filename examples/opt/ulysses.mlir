// Ulysses for OPT (DeepSpeed, Jacobs et al. 2023): the sequence is sharded everywhere but inside attention, where the
// heads are. Four all_to_all a layer change between the two, each of (p-1)/p of what a rank holds; all weights are
// whole, and so is the mask: positions are counted in it, so that it would be split with them, and gathered in every
// layer.

dist.mesh @m ["sp" = 4]

dist.schedule @ulysses on @m {
  dist.shard input "input_ids" [{}, {"sp"}]
  dist.shard input "attention_mask" [{}, {}]

  dist.sync "model.decoder.layers.*.self_attn.{q,k,v}_proj" fwd_post all_to_all dim 1 to 2 over "sp"
  dist.sync "model.decoder.layers.*.self_attn.out_proj" fwd_pre all_to_all dim 2 to 1 over "sp"
}
