// Tensor and data parallelism for OPT: two ranks share a layer, and two such pairs the batch. An all_reduce is among
// the ranks of a pair and of their part of the batch, so it sends half of what it does in tp.mlir on two ranks.

dist.mesh @m ["dp" = 2, "tp" = 2]

dist.schedule @tp_dp on @m {
  dist.shard input "{input_ids,attention_mask}" [{"dp"}, {}]

  dist.shard "model.decoder.layers.*.self_attn.{q,k,v}_proj" column over "tp"
  dist.shard "model.decoder.layers.*.fc1" column over "tp"
}
