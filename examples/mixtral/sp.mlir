// Megatron sequence parallelism for Mixtral (Korthikanti et al. 2022): tensor parallelism inside attention and experts,
// and between them the sequence is split.
//
// The experts' parameters are named as such, which leaves open how the tokens come to them: unless told, each rank
// would keep its tokens and gather the weights. `fwd_pre all_gather` says that the module takes all tokens. A layer has
// two reduce_scatter and two all_gather, which together send what two all_reduce would.

dist.mesh @m ["tp" = 4]

dist.schedule @sp on @m {
  dist.shard "model.layers.*.self_attn.{q,k,v}_proj" column over "tp"
  dist.shard "model.layers.*.self_attn.o_proj" row over "tp"
  dist.shard parameter "model.layers.*.mlp.experts.gate_up_proj" [{}, {"tp"} groups 2, {}]
  dist.shard parameter "model.layers.*.mlp.experts.down_proj" [{}, {}, {"tp"}]

  dist.sync "model.layers.*.self_attn.o_proj" fwd_post reduce_scatter dim 1 over "tp"
  dist.sync "model.layers.*.mlp" fwd_pre all_gather dim 1 over "tp"
  dist.sync "model.layers.*.mlp" fwd_post reduce_scatter dim 1 over "tp"
}
