// RUN: dist-opt %s "--dist-train-step=optimizer=sgd,lr=0.5,momentum=0.9" | FileCheck %s
// RUN: dist-opt %s "--dist-train-step=optimizer=adamw parameters=w" | FileCheck %s --check-prefix=ADAM
// RUN: dist-opt %s "--dist-train-step=loss=mse target=wanted optimizer=sgd" | FileCheck %s --check-prefix=MSE
// RUN: dist-opt %s "--dist-train-step=optimizer=adamw" --dist-spmd | FileCheck %s --check-prefix=SPMD
// RUN: dist-opt %s "--dist-train-step=optimizer=adamw,clip=1" --dist-spmd | FileCheck %s --check-prefix=CLIP

// A step takes labels, its number and what the optimizer keeps, and gives what it took anew. States lie as their
// parameters; one that nothing depends on stays as it is.

// CHECK: func.func @main(%{{.*}}: tensor<6x4xf32> {dist.input = "x"
// CHECK-SAME: tensor<4x8xf32> {dist.parameter = "w", dist.sharding = #dist.sharding<@m, [{}, {"tp"}]>, dist.updated}
// CHECK-SAME: tensor<8xf32> {dist.parameter = "b", dist.updated}
// CHECK-SAME: tensor<3xf32> {dist.parameter = "unused"}
// CHECK-SAME: tensor<6xi64> {dist.classes = 8 : i64, dist.input = "labels"
// CHECK-SAME: tensor<i64> {dist.input = "step"}
// CHECK-SAME: tensor<4x8xf32> {dist.parameter = "w.momentum_buffer", dist.sharding = #dist.sharding<@m, [{}, {"tp"}]>, dist.state, dist.updated}
// CHECK-SAME: tensor<8xf32> {dist.parameter = "b.momentum_buffer", dist.state, dist.updated})
// CHECK-SAME: -> (tensor<f32> {dist.output = "loss"}
// CHECK-SAME: tensor<4x8xf32> {dist.output = "w", dist.updates = 1 : i64}
// CHECK-SAME: tensor<4x8xf32> {dist.output = "w.momentum_buffer", dist.updates = 6 : i64}
// CHECK-SAME: tensor<8xf32> {dist.output = "b", dist.updates = 2 : i64}
// CHECK-SAME: tensor<8xf32> {dist.output = "b.momentum_buffer", dist.updates = 7 : i64})

// ADAM: "step"}
// ADAM-SAME: tensor<4x8xf32> {dist.parameter = "w.exp_avg"
// ADAM-SAME: tensor<4x8xf32> {dist.parameter = "w.exp_avg_sq"
// ADAM-SAME: -> (tensor<f32> {dist.output = "loss"}
// ADAM-SAME: {dist.output = "w"
// ADAM-SAME: {dist.output = "w.exp_avg"
// ADAM-SAME: {dist.output = "w.exp_avg_sq", dist.updates = 7 : i64})

// MSE: tensor<6x8xf32> {dist.input = "wanted"
// MSE-SAME: "step"}) ->

// The states of b follow it, though nobody said where it lies. Of the logits, whose classes are sharded, three
// numbers a row are exchanged.
// SPMD: tensor<6xi64> {{{.*}}dist.input = "labels"
// SPMD-SAME: tensor<2xf32> {{{.*}}dist.parameter = "b.exp_avg"
// SPMD-SAME: dist.output = "b"
// SPMD-COUNT-3: all_reduce{{.*}}tensor<6xf32>
// SPMD-NOT: all_gather
// SPMD-NOT: all_reduce
// SPMD: return

// The squares of all parameters of which ranks have parts are added before they are exchanged.
// CLIP-COUNT-3: all_reduce{{.*}}tensor<6xf32>
// CLIP: all_reduce{{.*}}tensor<f32>
// CLIP-NOT: all_reduce
// CLIP: return

dist.mesh @m ["tp" = 4]

func.func @main(%x: tensor<6x4xf32> {dist.input = "x"},
                %w: tensor<4x8xf32> {dist.parameter = "w", dist.sharding = #dist.sharding<@m, [{}, {"tp"}]>},
                %b: tensor<8xf32> {dist.parameter = "b"},
                %u: tensor<3xf32> {dist.parameter = "unused"}) -> (tensor<6x8xf32> {dist.output = "y"}) {
  %0 = tensor.empty() : tensor<6x8xf32>
  %c = linalg.broadcast ins(%b : tensor<8xf32>) outs(%0 : tensor<6x8xf32>) dimensions = [0]
  %y = linalg.matmul ins(%x, %w : tensor<6x4xf32>, tensor<4x8xf32>) outs(%c : tensor<6x8xf32>) -> tensor<6x8xf32>
  return %y : tensor<6x8xf32>
}
