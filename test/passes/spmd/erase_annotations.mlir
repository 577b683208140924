// RUN: dist-opt %s --dist-erase-annotations | FileCheck %s
// RUN: dist-opt %s --dist-apply-schedule --dist-propagate --dist-insert-reshards --dist-improve-reshards --dist-erase-annotations | FileCheck %s
// RUN: dist-opt %s --dist-apply-schedule --dist-spmd -o %t && not dist-opt %t --dist-erase-annotations 2>&1 | FileCheck %s --check-prefix=LOCAL

// Where a program runs is forgotten, from level 1 and from level 2; what it computes is not.

// LOCAL: error: is the program of one device, which has no other form

// CHECK-NOT: dist.mesh
// CHECK-NOT: dist.schedule
dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  dist.shard "proj" row over "tp"
  dist.sync "proj" fwd_post all_reduce over "tp"
}
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32> {dist.input = "x"}, %[[W:.*]]: tensor<8x4xf32> {dist.parameter = "proj.weight"}) -> tensor<4x4xf32>
func.func @main(%x: tensor<4x8xf32> {dist.input = "x"},
                %w: tensor<8x4xf32> {dist.parameter = "proj.weight"}) -> tensor<4x4xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x4xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x4xf32>) -> tensor<4x4xf32>
  // CHECK: %[[Y:.*]] = linalg.matmul {dist.scope = "proj"} ins(%[[X]], %[[W]]
  %y = linalg.matmul {dist.scope = "proj"} ins(%x, %w : tensor<4x8xf32>, tensor<8x4xf32>) outs(%fill : tensor<4x4xf32>) -> tensor<4x4xf32>
  // CHECK-NEXT: return %[[Y]]
  return %y : tensor<4x4xf32>
}
