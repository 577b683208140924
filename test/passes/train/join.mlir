// RUN: dist-opt %s --dist-train-step=optimizer=sgd --dist-join-parameters | FileCheck %s
// RUN: dist-opt %s "--dist-train-step=optimizer=sgd parameters=w" --dist-join-parameters | FileCheck %s --check-prefix=FROZEN
// RUN: dist-opt %s --dist-join-parameters | FileCheck %s --check-prefix=FORWARD

// A step's arguments keep their values and numbers: what is put together of parameters that it changes is made in each
// step, and of those that stay, too. Of the forward alone it is loaded so.

// CHECK: tensor<4x3xf32> {dist.parameter = "a", dist.updated}
// CHECK-NOT: dist.joined
// CHECK: tensor.concat
// FROZEN: tensor<4x3xf32> {dist.parameter = "a"}
// FROZEN-NOT: dist.joined
// FROZEN: dist.updates = 3 : i64
// FROZEN: tensor.concat
// FORWARD: dist.joined
// FORWARD-NOT: tensor.concat

func.func @main(%x: tensor<6x4xf32> {dist.input = "x"},
                %a: tensor<4x3xf32> {dist.parameter = "a"},
                %b: tensor<4x5xf32> {dist.parameter = "b"},
                %w: tensor<8x2xf32> {dist.parameter = "w"}) -> (tensor<6x2xf32> {dist.output = "y"}) {
  %c = tensor.concat dim(1) %a, %b : (tensor<4x3xf32>, tensor<4x5xf32>) -> tensor<4x8xf32>
  %0 = arith.constant dense<0.0> : tensor<6x8xf32>
  %h = linalg.matmul ins(%x, %c : tensor<6x4xf32>, tensor<4x8xf32>) outs(%0 : tensor<6x8xf32>) -> tensor<6x8xf32>
  %1 = arith.constant dense<0.0> : tensor<6x2xf32>
  %y = linalg.matmul ins(%h, %w : tensor<6x8xf32>, tensor<8x2xf32>) outs(%1 : tensor<6x2xf32>) -> tensor<6x2xf32>
  return %y : tensor<6x2xf32>
}
