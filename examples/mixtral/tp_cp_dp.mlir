// Three kinds of parallelism for Mixtral at once, on 2 x 2 x 2 ranks: the batch over "dp", the sequence over "cp",
// heads and every expert's features over "tp". A layer has the two all_reduce of tensor parallelism and the two
// all_gather of context parallelism, each of the part that the other axes leave of it.

dist.mesh @m ["dp" = 2, "cp" = 2, "tp" = 2]

dist.schedule @tp_cp_dp on @m {
  dist.shard input "input_ids" [{"dp"}, {"cp"}]
  dist.shard input "attention_mask" [{"dp"}, {}]

  dist.shard "model.layers.*.self_attn.{q,k,v}_proj" column over "tp"
  dist.shard parameter "model.layers.*.mlp.experts.gate_up_proj" [{}, {"tp"} groups 2, {}]
  dist.sync "model.layers.*.self_attn.{k,v}_proj" fwd_post all_gather dim 1 over "cp"
}
