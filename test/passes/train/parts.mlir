// RUN: dist-opt %s "--dist-train-step=optimizer=sgd parameters=w2 loss=mse" | FileCheck %s
// RUN: dist-opt %s "--dist-train-step=optimizer=sgd loss=mse" | FileCheck %s --check-prefix=ALL

// A parameter whose name begins with that of another, which is a part of a tensor.

// CHECK: tensor<4x4xf32> {dist.parameter = "w", dist.part = #dist.part<[4, 0] of [8, 4]>}
// CHECK-SAME: tensor<4x4xf32> {dist.parameter = "w2", dist.updated}
// CHECK-SAME: tensor<4x4xf32> {dist.output = "w2", dist.updates = 2 : i64}
// ALL: tensor<4x4xf32> {dist.output = "w", dist.part = #dist.part<[4, 0] of [8, 4]>, dist.updates = 1 : i64}
// ALL-SAME: tensor<4x4xf32> {dist.output = "w2", dist.updates = 2 : i64}

func.func @main(%x: tensor<4x4xf32> {dist.input = "x"},
                %w: tensor<4x4xf32> {dist.parameter = "w", dist.part = #dist.part<[4, 0] of [8, 4]>},
                %w2: tensor<4x4xf32> {dist.parameter = "w2"}) -> (tensor<4x4xf32> {dist.output = "y"}) {
  %0 = arith.constant dense<0.0> : tensor<4x4xf32>
  %h = linalg.matmul ins(%x, %w : tensor<4x4xf32>, tensor<4x4xf32>) outs(%0 : tensor<4x4xf32>) -> tensor<4x4xf32>
  %y = linalg.matmul ins(%h, %w2 : tensor<4x4xf32>, tensor<4x4xf32>) outs(%0 : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}
