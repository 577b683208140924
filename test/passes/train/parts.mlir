// RUN: split-file %s %t && cd %t
// RUN: dist-opt one.mlir "--dist-train-step=optimizer=sgd parameters=w2 loss=mse" | FileCheck %s
// RUN: dist-opt one.mlir "--dist-train-step=optimizer=sgd loss=mse" | FileCheck %s --check-prefix=ALL
// RUN: dist-opt unread.mlir "--dist-train-step=optimizer=adamw loss=mse" | FileCheck %s --check-prefix=UNREAD
// RUN: not dist-opt twice.mlir "--dist-train-step=optimizer=sgd loss=mse" 2>&1 | FileCheck %s --check-prefix=TWICE

// A parameter whose name begins with that of another, which is a part of a tensor.

// CHECK: tensor<4x4xf32> {dist.parameter = "w", dist.part = #dist.part<[4, 0] of [8, 4]>}
// CHECK-SAME: tensor<4x4xf32> {dist.parameter = "w2", dist.updated}
// CHECK-SAME: tensor<4x4xf32> {dist.output = "w2", dist.updates = 2 : i64}
// ALL: tensor<4x4xf32> {dist.output = "w", dist.part = #dist.part<[4, 0] of [8, 4]>, dist.updates = 1 : i64}
// ALL-SAME: tensor<4x4xf32> {dist.output = "w2", dist.updates = 2 : i64}

// A part that nothing depends on is trained with the others, as it is where the parameter is whole: weights decay.

// UNREAD: tensor<4x4xf32> {dist.output = "w", dist.part = #dist.part<[0, 0] of [8, 4]>, dist.updates = 1 : i64}
// UNREAD-SAME: tensor<4x4xf32> {dist.output = "w", dist.part = #dist.part<[4, 0] of [8, 4]>, dist.updates = 2 : i64}
// UNREAD-NOT: dist.output = "alone"

// TWICE: error: has two arguments with the same elements of parameter 'w': 1 and 2; trained, they would come to differ

//--- one.mlir
func.func @main(%x: tensor<4x4xf32> {dist.input = "x"},
                %w: tensor<4x4xf32> {dist.parameter = "w", dist.part = #dist.part<[4, 0] of [8, 4]>},
                %w2: tensor<4x4xf32> {dist.parameter = "w2"}) -> (tensor<4x4xf32> {dist.output = "y"}) {
  %0 = arith.constant dense<0.0> : tensor<4x4xf32>
  %h = linalg.matmul ins(%x, %w : tensor<4x4xf32>, tensor<4x4xf32>) outs(%0 : tensor<4x4xf32>) -> tensor<4x4xf32>
  %y = linalg.matmul ins(%h, %w2 : tensor<4x4xf32>, tensor<4x4xf32>) outs(%0 : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}

//--- unread.mlir
func.func @main(%x: tensor<4x4xf32> {dist.input = "x"},
                %w: tensor<4x4xf32> {dist.parameter = "w", dist.part = #dist.part<[0, 0] of [8, 4]>},
                %unread: tensor<4x4xf32> {dist.parameter = "w", dist.part = #dist.part<[4, 0] of [8, 4]>},
                %alone: tensor<4x4xf32> {dist.parameter = "alone"}) -> (tensor<4x4xf32> {dist.output = "y"}) {
  %0 = arith.constant dense<0.0> : tensor<4x4xf32>
  %y = linalg.matmul ins(%x, %w : tensor<4x4xf32>, tensor<4x4xf32>) outs(%0 : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}

//--- twice.mlir
func.func @main(%x: tensor<4x4xf32> {dist.input = "x"},
                %whole: tensor<8x4xf32> {dist.parameter = "w"},
                %w: tensor<4x4xf32> {dist.parameter = "w", dist.part = #dist.part<[4, 0] of [8, 4]>}) -> (tensor<8x4xf32> {dist.output = "y"}) {
  %0 = arith.constant dense<0.0> : tensor<8x4xf32>
  %y = linalg.matmul ins(%whole, %w : tensor<8x4xf32>, tensor<4x4xf32>) outs(%0 : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}
