// Ulysses for Mixtral (DeepSpeed, Jacobs et al. 2023): the sequence is sharded everywhere but inside attention, where
// the heads are. Four all_to_all a layer change between the two, each of (p-1)/p of what a rank holds; k and v have
// half as many heads as q here. All weights are whole: a rank computes all experts that its tokens take.

dist.mesh @m ["sp" = 4]

dist.schedule @ulysses on @m {
  dist.shard input "input_ids" [{}, {"sp"}]

  dist.sync "model.layers.*.self_attn.{q,k,v}_proj" fwd_post all_to_all dim 1 to 2 over "sp"
  dist.sync "model.layers.*.self_attn.o_proj" fwd_pre all_to_all dim 2 to 1 over "sp"
}
