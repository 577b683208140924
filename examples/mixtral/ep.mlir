// Expert parallelism for Mixtral: each rank has some of the experts, and all of the tokens.
//
// A rank finds the weights of its own experts and zeros for those of the others, so that of each token's two experts
// one rank each has what they make of it, up to where they are added up: one all_reduce a layer.

dist.mesh @m ["ep" = 4]

dist.schedule @ep on @m {
  dist.shard "model.layers.*.mlp.experts" experts over "ep"
}
