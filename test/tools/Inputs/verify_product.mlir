func.func @main(%a: tensor<4x8xf32> {dist.input = "a"}, %b: tensor<8x4xf32> {dist.input = "b"}) -> (tensor<4x4xf32> {dist.output = "y"}) {
  %z = arith.constant dense<0.0> : tensor<4x4xf32>
  %y = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x4xf32>) outs(%z : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}
