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

// -----
// A constant in three ways: whole, the start of a pending maximum, in parts.
dist.mesh @m ["y" = 3]
func.func @main(%a: tensor<4x5xi64> {dist.sharding = #dist.sharding<@m, [{"y"}, {}]>})
    -> (tensor<5xi64> {dist.sharding = #dist.sharding<@m, [{"y"}]>}, tensor<5xi64>) {
  %c = arith.constant dense<[0, 2, 4, 1, 3]> : tensor<5xi64>
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]}
      ins(%a, %c : tensor<4x5xi64>, tensor<5xi64>) outs(%c : tensor<5xi64>) {
  ^bb0(%x: i64, %y: i64, %s: i64):
    %t = arith.addi %x, %y : i64
    %m = arith.maxsi %s, %t : i64
    linalg.yield %m : i64
  } -> tensor<5xi64>
  return %c, %0 : tensor<5xi64>, tensor<5xi64>
}
