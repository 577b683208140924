// Ulysses for T5 (DeepSpeed, Jacobs et al. 2023): both sequences are sharded everywhere but inside attention, where the
// heads are. Four all_to_all an attention change between the two, each of (p-1)/p of what a rank holds (heads of 8 make
// 32 features, half of the hidden ones); all weights are whole.

dist.mesh @m ["sp" = 4]

dist.schedule @ulysses on @m {
  dist.shard input "{input_ids,decoder_input_ids}" [{}, {"sp"}]

  dist.sync "**.{SelfAttention,EncDecAttention}.{q,k,v}" fwd_post all_to_all dim 1 to 2 over "sp"
  dist.sync "**.{SelfAttention,EncDecAttention}.o" fwd_pre all_to_all dim 2 to 1 over "sp"
}
