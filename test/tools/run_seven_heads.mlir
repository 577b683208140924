// RUN: dist-run %s --verify %{opt} --input arg0=random:1 --input arg1=random:2 | FileCheck %s
// CHECK: result0: equal to the program on one rank

// Seven heads on four devices: split by head, and split by feature and then cut
// into heads (Megatron and JAX refuse both).
dist.mesh @m ["tp" = 4]
func.func @main(%q: tensor<2x5x28xf64> {dist.sharding = #dist.sharding<@m, [{}, {}, {"tp"}]>},
                %k: tensor<2x5x7x4xf64> {dist.sharding = #dist.sharding<@m, [{}, {}, {"tp"}, {}]>}) -> tensor<2x7x5x5xf64> {
  %h = tensor.expand_shape %q [[0], [1], [2, 3]] output_shape [2, 5, 7, 4] : tensor<2x5x28xf64> into tensor<2x5x7x4xf64>
  %z = arith.constant dense<0.0> : tensor<2x7x5x5xf64>
  %s = linalg.contract indexing_maps = [affine_map<(b, h, i, j, d) -> (b, i, h, d)>, affine_map<(b, h, i, j, d) -> (b, j, h, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>]
      ins(%h, %k : tensor<2x5x7x4xf64>, tensor<2x5x7x4xf64>) outs(%z : tensor<2x7x5x5xf64>) -> tensor<2x7x5x5xf64>
  return %s : tensor<2x7x5x5xf64>
}
