// RUN: dist-opt %s "--dist-train-step=optimizer=adam accumulate=3" | FileCheck %s
// RUN: dist-opt %s "--dist-train-step=optimizer=adam accumulate=3" --dist-spmd | FileCheck %s --check-prefix=SPMD
// RUN: dist-opt %s "--dist-train-step=optimizer=sgd accumulate=3 loss=mse" --dist-spmd | FileCheck %s --check-prefix=SGD
// RUN: not dist-opt %s "--dist-train-step=optimizer=sgd accumulate=0" 2>&1 | FileCheck %s --check-prefix=NONE

// Three batches one after the other: inputs have them as their first dimension, which all devices go through together.
// What is made of parameters alone is outside of the loop, and so is the number of labels that count.

// CHECK: func.func @main(%[[X:.*]]: tensor<3x6x4xf32> {dist.input = "x", dist.sharding = #dist.sharding<@m, [{}, {"dp"}, {}]>}
// CHECK-SAME: %[[W:.*]]: tensor<8x4xf32> {dist.parameter = "w", dist.updated}
// CHECK-SAME: %[[LABELS:.*]]: tensor<3x6xi64> {dist.classes = 8 : i64, dist.input = "labels", dist.sharding = #dist.sharding<@m, [{}, {"dp"}]>}
// CHECK-SAME: tensor<i64> {dist.input = "step"}
// CHECK: linalg.transpose ins(%[[W]]
// CHECK: ins(%[[LABELS]] : tensor<3x6xi64>)
// CHECK: %[[SUMS:.*]]:2 = scf.for %[[K:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%[[LOSS:.*]] = %{{.*}}, %[[SUM:.*]] = %{{.*}}) -> (tensor<f32>, tensor<8x4xf32>) {
// CHECK: tensor.extract_slice %[[X]][%[[K]], 0, 0] [1, 6, 4] [1, 1, 1] : tensor<3x6x4xf32> to tensor<6x4xf32>
// CHECK: linalg.generic {{.*}} outs(%[[SUM]] : tensor<8x4xf32>)
// CHECK: scf.yield
// CHECK: dist.follow %[[SUMS]]#1 like %[[W]]

// The loop sends nothing. After it come one reduction of the loss and one of the gradient; before it the labels'.
// SPMD: dist.all_reduce{{.*}}tensor<i64>
// SPMD: scf.for
// SPMD-NOT: dist.all_reduce
// SPMD: scf.yield
// SPMD-DAG: dist.all_reduce{{.*}}tensor<f32>
// SPMD-DAG: dist.all_reduce{{.*}}tensor<8x4xf32>
// SPMD-NOT: dist.all_
// SPMD: return

// SGD-NOT: dist.all_
// SGD: scf.for
// SGD-NOT: dist.all_
// SGD: scf.yield
// SGD-COUNT-2: dist.all_reduce
// SGD-NOT: dist.all_

// NONE: error: accumulate=0: a step is of 1 to 1048576 microbatches

dist.mesh @m ["dp" = 2]

func.func @main(%x: tensor<6x4xf32> {dist.input = "x", dist.sharding = #dist.sharding<@m, [{"dp"}, {}]>},
                %w: tensor<8x4xf32> {dist.parameter = "w"}) -> (tensor<6x8xf32> {dist.output = "y"}) {
  %0 = tensor.empty() : tensor<4x8xf32>
  %t = linalg.transpose ins(%w : tensor<8x4xf32>) outs(%0 : tensor<4x8xf32>) permutation = [1, 0]
  %1 = arith.constant dense<0.0> : tensor<6x8xf32>
  %y = linalg.matmul ins(%x, %t : tensor<6x4xf32>, tensor<4x8xf32>) outs(%1 : tensor<6x8xf32>) -> tensor<6x8xf32>
  return %y : tensor<6x8xf32>
}
