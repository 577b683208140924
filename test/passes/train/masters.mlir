// RUN: dist-opt %s "--dist-train-step=optimizer=adamw,masters loss=mse" | FileCheck %s
// RUN: dist-opt %s "--dist-train-step=optimizer=sgd,masters loss=mse accumulate=2" | FileCheck %s --check-prefix=SGD
// RUN: not dist-opt %s "--dist-train-step=optimizer=sgd,masters loss=mse parameters=b" 2>&1 | FileCheck %s --check-prefix=NONE

// A parameter of 16 bits has a master of 32, one of 32 has none. Gradients of several batches are added in its type.

// CHECK: tensor<8xf32> {dist.parameter = "b", dist.updated}
// CHECK-SAME: tensor<4x8xf32> {dist.parameter = "w.exp_avg"
// CHECK-SAME: tensor<4x8xf32> {dist.parameter = "w.exp_avg_sq"
// CHECK-SAME: tensor<4x8xf32> {dist.parameter = "w.master", dist.state, dist.updated}
// CHECK-SAME: tensor<8xf32> {dist.parameter = "b.exp_avg_sq"
// CHECK-NOT: b.master
// CHECK-SAME: tensor<4x8xbf16> {dist.output = "w", dist.updates = 1 : i64}
// CHECK-SAME: tensor<4x8xf32> {dist.output = "w.master", dist.updates = 7 : i64}

// SGD: tensor<4x8xf32> {dist.parameter = "w.master"
// SGD: scf.for {{.*}} -> (tensor<f32>, tensor<4x8xf32>, tensor<8xf32>)

// NONE: error: optimizer=sgd,masters: masters are of parameters of 16 bits, and none is trained

func.func @main(%x: tensor<6x4xbf16> {dist.input = "x"},
                %w: tensor<4x8xbf16> {dist.parameter = "w"},
                %b: tensor<8xf32> {dist.parameter = "b"}) -> (tensor<6x8xf32> {dist.output = "y"}) {
  %0 = tensor.empty() : tensor<6x8xf32>
  %c = linalg.broadcast ins(%b : tensor<8xf32>) outs(%0 : tensor<6x8xf32>) dimensions = [0]
  %y = linalg.matmul ins(%x, %w : tensor<6x4xbf16>, tensor<4x8xbf16>) outs(%c : tensor<6x8xf32>) -> tensor<6x8xf32>
  return %y : tensor<6x8xf32>
}
