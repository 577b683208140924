// RUN: dist-opt %s --dist-recompute | FileCheck %s --check-prefixes=CHECK,KEPT
// RUN: dist-opt %s --dist-recompute=what=gathers | FileCheck %s --check-prefixes=CHECK,AGAIN

// A parameter that is stored in parts is gathered again if that is wanted; what is computed and sent is not.

// CHECK: %[[W:.*]] = dist.all_gather %arg1 dim 0 over "dp"
// CHECK: linalg.matmul ins(%arg0, %[[W]]
// CHECK: %[[SUM:.*]] = dist.all_reduce
// CHECK: %[[D:.*]] = arith.mulf %[[SUM]], %arg2 {dist.backward}
// KEPT-NOT: dist.all_gather
// KEPT: linalg.contract {{.*}} ins(%[[D]], %[[W]]
// AGAIN: %[[PART:.*]] = dist.optimization_barrier %arg1 after %[[D]]
// AGAIN-NEXT: %[[W2:.*]] = dist.all_gather %[[PART]] dim 0 over "dp"
// AGAIN-SAME: cause "again, for gradients: because"
// AGAIN-SAME: dist.recomputed
// AGAIN: linalg.contract {{.*}} ins(%[[D]], %[[W2]]
// CHECK-NOT: dist.all_
// CHECK: return

dist.mesh @m ["dp" = 2]
func.func @main(%x: tensor<8x16xf32> {dist.input = "x"}, %part: tensor<8x16xf32> {dist.parameter = "w"}, %dy: tensor<8x16xf32> {dist.input = "dy"})
    -> (tensor<8x16xf32>, tensor<8x16xf32>) {
  %zero = arith.constant dense<0.0> : tensor<8x16xf32>
  %w = dist.all_gather %part dim 0 over "dp" cause "because" : tensor<8x16xf32> -> tensor<16x16xf32>
  %h = linalg.matmul ins(%x, %w : tensor<8x16xf32>, tensor<16x16xf32>) outs(%zero : tensor<8x16xf32>) -> tensor<8x16xf32>
  %sum = dist.all_reduce %h sum over "dp" : tensor<8x16xf32>
  %out = math.exp %sum : tensor<8x16xf32>
  %d = arith.mulf %sum, %dy {dist.backward} : tensor<8x16xf32>
  %dx = linalg.contract indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>] {dist.backward}
      ins(%d, %w : tensor<8x16xf32>, tensor<16x16xf32>) outs(%zero : tensor<8x16xf32>) -> tensor<8x16xf32>
  return %out, %dx : tensor<8x16xf32>, tensor<8x16xf32>
}
