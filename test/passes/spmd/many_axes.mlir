// RUN: dist-opt %s --dist-spmd --verify-diagnostics -o /dev/null

// Of more than four axes not all ways are tried: that is said.
dist.mesh @m ["a" = 2, "b" = 2, "c" = 2, "d" = 2, "e" = 2]
func.func @f(%x: tensor<64x64x64xf32> {dist.sharding = #dist.sharding<@m, [{"a", "b"}, {"c", "d"}, {"e"}]>})
    -> (tensor<64x64x64xf32> {dist.sharding = #dist.sharding<@m, [{"e", "c"}, {"b"}, {"d", "a"}]>}) {
  // expected-remark @below {{too many axes move to try all ways; there may be a cheaper one}}
  return %x : tensor<64x64x64xf32>
}
