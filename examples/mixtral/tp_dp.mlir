// Tensor and data parallelism for Mixtral: two ranks share a layer, and two such pairs the batch.

dist.mesh @m ["dp" = 2, "tp" = 2]

dist.schedule @tp_dp on @m {
  dist.shard input "{input_ids,attention_mask}" [{"dp"}, {}]

  dist.shard "model.layers.*.self_attn.{q,k,v}_proj" column over "tp"
  dist.shard parameter "model.layers.*.mlp.experts.gate_up_proj" [{}, {"tp"} groups 2, {}]
}
