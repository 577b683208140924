// RUN: split-file %s %t
// RUN: dist-opt %t/placed.mlir --dist-train-step=optimizer=adam,zero=dp | FileCheck %s
// RUN: not dist-opt %t/placed.mlir --dist-train-step=optimizer=adam,zero=tp 2>&1 | FileCheck %s --check-prefix=AXIS
// RUN: not dist-opt %t/unplaced.mlir --dist-train-step=optimizer=adam,zero=dp 2>&1 | FileCheck %s --check-prefix=SEVERAL

// States are sharded over an axis of the mesh that the program is on, whatever others the module has.

// CHECK: dist.parameter = "w.exp_avg", dist.sharding = #dist.sharding<@used, [{?}, {"dp"}]>
// AXIS: error: zero=tp of the optimizer: mesh @used has no such axis; its axes are: dp
// SEVERAL: error: zero=dp of the optimizer: the module has several meshes and uses none, so that the axis is of any

//--- placed.mlir
dist.mesh @used ["dp" = 2]
dist.mesh @other ["dp" = 4, "tp" = 2]
func.func @main(%x: tensor<6x4xf32> {dist.input = "x", dist.sharding = #dist.sharding<@used, [{"dp"}, {}]>},
                %w: tensor<4x8xf32> {dist.parameter = "w"}) -> (tensor<6x8xf32> {dist.output = "y"}) {
  %0 = arith.constant dense<0.0> : tensor<6x8xf32>
  %y = linalg.matmul ins(%x, %w : tensor<6x4xf32>, tensor<4x8xf32>) outs(%0 : tensor<6x8xf32>) -> tensor<6x8xf32>
  return %y : tensor<6x8xf32>
}
//--- unplaced.mlir
dist.mesh @one ["dp" = 2]
dist.mesh @other ["dp" = 4]
func.func @main(%x: tensor<6x4xf32> {dist.input = "x"},
                %w: tensor<4x8xf32> {dist.parameter = "w"}) -> (tensor<6x8xf32> {dist.output = "y"}) {
  %0 = arith.constant dense<0.0> : tensor<6x8xf32>
  %y = linalg.matmul ins(%x, %w : tensor<6x4xf32>, tensor<4x8xf32>) outs(%0 : tensor<6x8xf32>) -> tensor<6x8xf32>
  return %y : tensor<6x8xf32>
}
