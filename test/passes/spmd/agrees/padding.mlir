// RUN: dist-fuzz %s

// What padding holds is not divided by: whole tensors, bodies, a sum.
dist.mesh @m ["x" = 4]
func.func @main(%a: tensor<10xi64> {dist.sharding = #dist.sharding<@m, [{"x"}]>},
                %b: tensor<10xi64> {test.nonzero, dist.sharding = #dist.sharding<@m, [{"x"}]>}) -> (tensor<10xi64>, tensor<10xi64>, tensor<i64>) {
  %0 = arith.divsi %a, %b : tensor<10xi64>
  %e = tensor.empty() : tensor<10xi64>
  %1 = linalg.div ins(%a, %b : tensor<10xi64>, tensor<10xi64>) outs(%e : tensor<10xi64>) -> tensor<10xi64>
  %z = arith.constant dense<0> : tensor<i64>
  %2 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%a, %b : tensor<10xi64>, tensor<10xi64>) outs(%z : tensor<i64>) {
  ^bb0(%x: i64, %y: i64, %s: i64):
    %q = arith.remui %x, %y : i64
    %t = arith.addi %s, %q : i64
    linalg.yield %t : i64
  } -> tensor<i64>
  return %0, %1, %2 : tensor<10xi64>, tensor<10xi64>, tensor<i64>
}

// -----
// Nor does it say where to read.
dist.mesh @m ["x" = 4]
func.func @main(%t: tensor<7xf64>, %rows: tensor<10xi64> {test.below = 7 : i64, dist.sharding = #dist.sharding<@m, [{"x"}]>}) -> tensor<10xf64> {
  %e = tensor.empty() : tensor<10xf64>
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%rows : tensor<10xi64>) outs(%e : tensor<10xf64>) {
  ^bb0(%row: i64, %o: f64):
    %i = arith.index_cast %row : i64 to index
    %x = tensor.extract %t[%i] : tensor<7xf64>
    linalg.yield %x : f64
  } -> tensor<10xf64>
  return %0 : tensor<10xf64>
}
