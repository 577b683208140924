// Tensor parallelism for Mixtral (Megatron-LM, Shoeybi et al. 2019) in its shortest form: two directives a block.
//
// Attention is that of LLaMA. The experts of a layer lie in two parameters, gate_up_proj of [expert, gate|up, hidden]
// and down_proj of [expert, hidden, feature], of which a token takes the slices of its two experts; so they are named
// as parameters. `groups 2` splits gate and up each, so that a rank has the same features of both. Every rank then
// computes its quarter of every expert; down_proj follows by propagation. Two all_reduce a layer.
//
//   dist-opt mixtral.mlir --dist-apply-schedule=file=tp.mlir --dist-spmd

dist.mesh @m ["tp" = 4]

dist.schedule @tp on @m {
  dist.shard "model.layers.*.self_attn.{q,k,v}_proj" column over "tp"
  dist.shard parameter "model.layers.*.mlp.experts.gate_up_proj" [{}, {"tp"} groups 2, {}]
}
