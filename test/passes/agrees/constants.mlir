// RUN: dist-fuzz %s

// A constant that a constraint places is what a sync acts on.
dist.mesh @m ["x" = 3]
func.func @main() -> tensor<8xi1> {
  %true = arith.constant true
  %0 = tensor.splat %true : tensor<8xi1>
  %1 = dist.sharding_constraint %0 <@m, [{"x"}]> : tensor<8xi1>
  %2 = dist.sync %1 fwd_post all_gather dim 0 over "x" : tensor<8xi1>
  return %2 : tensor<8xi1>
}

// -----
// Two rows on five devices cannot be merged into eight elements.
dist.mesh @m ["x" = 5]
func.func @main(%a: tensor<2x4xf64> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>}) -> tensor<2x4xf64> {
  %c = arith.constant dense<2.0> : tensor<8xf64>
  %0 = tensor.expand_shape %c [[0, 1]] output_shape [2, 4] : tensor<8xf64> into tensor<2x4xf64>
  %1 = arith.addf %0, %a : tensor<2x4xf64>
  return %1 : tensor<2x4xf64>
}
