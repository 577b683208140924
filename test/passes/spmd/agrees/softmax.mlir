// RUN: dist-fuzz %s

// Rows sharded evenly.
dist.mesh @m ["x" = 4]
func.func @main(%x: tensor<3x8xf64> {dist.sharding = #dist.sharding<@m, [{}, {"x"}]>}) -> tensor<3x8xf64> {
  %e = tensor.empty() : tensor<3x8xf64>
  %y = linalg.softmax dimension(1) ins(%x : tensor<3x8xf64>) outs(%e : tensor<3x8xf64>) -> tensor<3x8xf64>
  return %y : tensor<3x8xf64>
}

// -----
// Five elements on four devices, of which one has none: padding counts neither
// for the maximum nor for the sum.
dist.mesh @m ["x" = 4, "y" = 2]
func.func @main(%x: tensor<5x3xf64> {dist.sharding = #dist.sharding<@m, [{"x"}, {"y"}]>})
    -> (tensor<5x3xf64> {dist.sharding = #dist.sharding<@m, [{"x"}, {"y"}]>}) {
  %e = tensor.empty() : tensor<5x3xf64>
  %y = linalg.softmax dimension(0) ins(%x : tensor<5x3xf64>) outs(%e : tensor<5x3xf64>) -> tensor<5x3xf64>
  return %y : tensor<5x3xf64>
}

// -----
// Over two axes, then multiplied.
dist.mesh @m ["x" = 2, "y" = 2]
func.func @main(%x: tensor<4x8xf64> {dist.sharding = #dist.sharding<@m, [{}, {"x", "y"}]>},
                %v: tensor<8x3xf64> {dist.sharding = #dist.sharding<@m, [{"x", "y"}, {}]>}) -> tensor<4x3xf64> {
  %z = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<4x8xf64>
  %y = linalg.softmax dimension(1) ins(%x : tensor<4x8xf64>) outs(%e : tensor<4x8xf64>) -> tensor<4x8xf64>
  %o = tensor.empty() : tensor<4x3xf64>
  %f = linalg.fill ins(%z : f64) outs(%o : tensor<4x3xf64>) -> tensor<4x3xf64>
  %r = linalg.matmul ins(%y, %v : tensor<4x8xf64>, tensor<8x3xf64>) outs(%f : tensor<4x3xf64>) -> tensor<4x3xf64>
  return %r : tensor<4x3xf64>
}
