// Expert parallelism for Mixtral: each rank has some of the experts, and all of the tokens.
//
// A rank finds the weights of its own experts and zeros for those of the others, so that what the ranks compute of a
// token's experts adds up: once before the activation, gate and up of every token's two experts, and once in the end.

dist.mesh @m ["ep" = 4]

dist.schedule @ep on @m {
  dist.shard parameter "model.layers.*.mlp.experts.{gate_up_proj,down_proj}" [{"ep"}, {}, {}]
}
