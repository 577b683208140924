// RUN: dist-fuzz %s

// Dimensions of no elements: their collectives, slices and reshapes.
dist.mesh @m ["x" = 4]
func.func @main(%a: tensor<5x0x2xf64>) -> tensor<5x0x2xf64> {
  %0 = dist.sharding_constraint %a <@m, [{"x"}, {}, {}]> : tensor<5x0x2xf64>
  %1 = dist.sync %0 fwd_post all_to_all dim 0 to 1 over "x" : tensor<5x0x2xf64>
  return %1 : tensor<5x0x2xf64>
}

// -----
dist.mesh @m ["x" = 2]
func.func @main(%a: tensor<0x0x0xi64> {dist.sharding = #dist.sharding<@m, [{}, {}, {"x"}]>})
    -> (tensor<0x0xi64> {dist.sharding = #dist.sharding<@m, [{}, {}]>}) {
  %0 = tensor.collapse_shape %a [[0], [1, 2]] : tensor<0x0x0xi64> into tensor<0x0xi64>
  return %0 : tensor<0x0xi64>
}
