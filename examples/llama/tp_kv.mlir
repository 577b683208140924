// Tensor parallelism for LLaMA on twice as many ranks as there are key/value heads.
//
// A head of k and v serves two of q. On 8 ranks each has one head of q, so that two need the same of k and v. Two axes say
// so: q is split over both, by heads of k and v first; k and v over the first alone, so that the two ranks along the other
// compute the same. That sends nothing; on one axis of 8, halves of heads would be exchanged within attention. Two
// all_reduce a layer, over all 8 ranks.

dist.mesh @m ["kv" = 4, "q" = 2]

dist.schedule @tp_kv on @m {
  dist.shard "model.layers.*.self_attn.q_proj" column over "kv", "q"
  dist.shard "model.layers.*.self_attn.{k,v}_proj" column over "kv"
  dist.shard "model.layers.*.mlp.{gate,up}_proj" column over "kv", "q"
}
