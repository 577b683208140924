// RUN: %{root}/tools/dist-opt %s --verify-diagnostics --dist-verify-placed

// At level 2, written by hand.
dist.mesh @m ["sp" = 4]
func.func @main(%x: tensor<16xf32> {dist.sharding = #dist.sharding<@m, [{"sp"}]>}) -> (tensor<16xf32> {dist.sharding = #dist.sharding<@m, [{}]>}) {
  // expected-error@below {{its operand is placed as #dist.sharding<@m, [{"sp"}]>, but its result as #dist.sharding<@m, [{}]>}}
  %s = dist.sync %x fwd_pre halo dim 0 low 1 high 1 over "sp" {dist.shardings = [#dist.sharding<@m, [{}]>]} : tensor<16xf32>
  return %s : tensor<16xf32>
}
