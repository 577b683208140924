// Megatron's sequence parallelism for Phi-3 (Korthikanti et al. 2022), on top of tp.mlir: the sums of the two row-parallel
// projections are scattered along the sequence, and gathered again before the next column-parallel one. Residuals and
// norms work on a part of the sequence.
//
//   dist-opt phi3.mlir --dist-apply-schedule=file=sp.mlir --dist-spmd

dist.mesh @m ["tp" = 4]

dist.schedule @sp on @m {
  dist.shard "model.layers.*.self_attn" heads over "tp"
  dist.shard "model.layers.*.mlp.gate_up_proj" column over "tp" groups 2
  dist.shard "model.layers.*.mlp.down_proj" row over "tp"

  dist.sync "model.layers.*.self_attn.o_proj" fwd_post reduce_scatter dim 1 over "tp"
  dist.sync "model.layers.*.mlp.down_proj" fwd_post reduce_scatter dim 1 over "tp"
}
