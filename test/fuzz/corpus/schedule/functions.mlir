dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  dist.replace "act" with @act
  dist.decompose "fc"
  dist.shard "fc.matmul" row over "tp"
  dist.sync "fc.matmul" fwd_post @sum backward @copy
  dist.sync "act" fwd_pre scatter dim 1 over "tp" groups 2
  dist.shard value "node" 0 [0 = {"tp"}] optional
}
func.func private @act(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.tanh ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
func.func private @sum(
    %x: tensor<4x8xf32> {dist.sharding = #dist.sharding<@m, [{}, {}], partial = sum {"tp"}>})
    -> (tensor<4x8xf32> {dist.sharding = #dist.sharding<@m, [{}, {}]>}) {
  %0 = dist.all_reduce %x sum over "tp" : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
func.func private @copy(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  return %x : tensor<4x8xf32>
}
