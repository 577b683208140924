// Expert and data parallelism for Mixtral over one axis: each rank has a part of the batch and some of the experts.
//
// The tokens of all ranks are gathered before the experts. Each rank applies its own ones, and what they make is added
// up where the tokens came from: together (p-1)/p of an activation twice a layer, whatever the router says.

dist.mesh @m ["dp" = 2]

dist.schedule @ep_dp on @m {
  dist.shard input "{input_ids,attention_mask}" [{"dp"}, {}]

  dist.shard "model.layers.*.mlp.experts" experts over "dp"

  dist.sync "model.layers.*.mlp" fwd_pre all_gather dim 0 over "dp"
  dist.sync "model.layers.*.mlp" fwd_post reduce_scatter dim 0 over "dp"
}
