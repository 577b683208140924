// RUN: dist-fuzz %s

// Sizes that only running tells: other dimensions may be sharded.
dist.mesh @m ["x" = 4]
func.func @main(%a: tensor<?x8xf64> {dist.sharding = #dist.sharding<@m, [{}, {}]>},
                %w: tensor<8x6xf64> {dist.sharding = #dist.sharding<@m, [{}, {"x"}]>})
    -> (tensor<?x6xf64> {dist.sharding = #dist.sharding<@m, [{}, {"x"}]>}, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant 0.0 : f64
  %d = tensor.dim %a, %c0 : tensor<?x8xf64>
  %e = tensor.empty(%d) : tensor<?x6xf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<?x6xf64>) -> tensor<?x6xf64>
  %0 = linalg.matmul ins(%a, %w : tensor<?x8xf64>, tensor<8x6xf64>) outs(%f : tensor<?x6xf64>) -> tensor<?x6xf64>
  %1 = math.tanh %0 : tensor<?x6xf64>
  %n = tensor.dim %1, %c1 : tensor<?x6xf64>
  return %1, %n : tensor<?x6xf64>, index
}
