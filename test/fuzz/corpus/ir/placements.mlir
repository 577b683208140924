
dist.mesh @m ["dp" = 2, "tp" = 4]

func.func @placements(%x: tensor<2x16x64xf32>, %n: tensor<?x4xf32>) {
  %0 = dist.sharding_constraint %x <@m, [{?}, {}, {"tp"}]> : tensor<2x16x64xf32>
  %1 = dist.sharding_constraint %x <@m, [{}, {}, {}], partial = sum {"tp"}> cause "s.mlir:3: dist.shard \"fc\"" {dist.scope = "fc"} : tensor<2x16x64xf32>
  %2 = dist.sharding_constraint %n <@m, [{"dp"}, {}]> : tensor<?x4xf32>

  %3 = dist.reshard %x <@m, [{}, {}, {}], partial = sum {"tp"}> to <@m, [{}, {"tp"}, {}]> cause "because" : tensor<2x16x64xf32>

  %4 = dist.sync %x fwd_post reduce_scatter dim 1 over "tp" : tensor<2x16x64xf32>
  %5 = dist.sync %x fwd_post all_reduce over "dp", "tp"(1)2 : tensor<2x16x64xf32>
  %6 = dist.sync %x fwd_pre all_gather dim 0 over "tp" on @m cause "s.mlir:4" {dist.scope = "fc"} : tensor<2x16x64xf32>
  %7 = dist.sync %x bwd_post scatter dim 2 over "tp" : tensor<2x16x64xf32>
  %8 = dist.sync %x fwd_post all_to_all dim 1 to 2 over "tp" : tensor<2x16x64xf32>
  return
}
