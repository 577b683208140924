// Three kinds of parallelism for GPT-2 at once, on 2 x 2 x 2 ranks: the batch over "dp", the sequence over "cp", heads
// and features over "tp". A rank computes an eighth of every projection. A layer has the two all_reduce of tensor
// parallelism and the two all_gather of context parallelism, each of the part that the other axes leave of it.

dist.mesh @m ["dp" = 2, "cp" = 2, "tp" = 2]

dist.schedule @tp_cp_dp on @m {
  dist.shard input "input_ids" [{"dp"}, {"cp"}]
  dist.shard input "attention_mask" [{"dp"}, {}]

  dist.shard "transformer.h.*.attn.c_attn" column over "tp" groups 3
  dist.shard "transformer.h.*.mlp.c_fc" column over "tp"
}
