// A collective that undoes another one goes with it.
// RUN: dist-opt %s --dist-fuse-transposes --cse --dist-verify-spmd | FileCheck %s

dist.mesh @m ["sp" = 2, "tp" = 2]

// CHECK-LABEL: func @main(
// CHECK-SAME: %[[X:.*]]: tensor<2x4x6xf32>)
// CHECK-NEXT: return %[[X]]
func.func @main(%x: tensor<2x4x6xf32>) -> tensor<2x4x6xf32> {
  %0 = dist.all_to_all %x split 2 concat 1 over "sp" : tensor<2x4x6xf32> -> tensor<2x8x3xf32>
  %1 = dist.all_to_all %0 split 1 concat 2 over "sp" : tensor<2x8x3xf32> -> tensor<2x4x6xf32>
  return %1 : tensor<2x4x6xf32>
}

// Over other axes, or along other dimensions, it does not.
// CHECK-LABEL: func private @no_pair
// CHECK: dist.all_to_all {{.*}} over "sp"
// CHECK: dist.all_to_all {{.*}} over "tp"
// CHECK: dist.all_to_all {{.*}} split 0
// CHECK: return
func.func private @no_pair(%x: tensor<4x4x6xf32>) -> tensor<2x4x12xf32> {
  %0 = dist.all_to_all %x split 2 concat 1 over "sp" : tensor<4x4x6xf32> -> tensor<4x8x3xf32>
  %1 = dist.all_to_all %0 split 1 concat 2 over "tp" : tensor<4x8x3xf32> -> tensor<4x4x6xf32>
  %2 = dist.all_to_all %1 split 0 concat 2 over "tp" : tensor<4x4x6xf32> -> tensor<2x4x12xf32>
  return %2 : tensor<2x4x12xf32>
}

// Transposes between them stay, as one.
// CHECK-LABEL: func private @transposed(
// CHECK-SAME: %[[X:.*]]: tensor<2x4x6xf32>)
// CHECK-NOT: all_to_all
// CHECK: %[[T:.*]] = linalg.transpose ins(%[[X]] : tensor<2x4x6xf32>) outs(%{{.*}} : tensor<4x2x6xf32>) permutation = [1, 0, 2]
// CHECK-NEXT: return %[[T]]
func.func private @transposed(%x: tensor<2x4x6xf32>) -> tensor<4x2x6xf32> {
  %0 = dist.all_to_all %x split 2 concat 1 over "sp" : tensor<2x4x6xf32> -> tensor<2x8x3xf32>
  %e = tensor.empty() : tensor<8x2x3xf32>
  %t = linalg.transpose ins(%0 : tensor<2x8x3xf32>) outs(%e : tensor<8x2x3xf32>) permutation = [1, 0, 2]
  %1 = dist.all_to_all %t split 0 concat 2 over "sp" : tensor<8x2x3xf32> -> tensor<4x2x6xf32>
  return %1 : tensor<4x2x6xf32>
}

// CHECK-LABEL: func private @gather_and_slice(
// CHECK-SAME: %[[X:.*]]: tensor<2x4xf32>, %[[Y:.*]]: tensor<2x4xf32>)
// CHECK-NEXT: return %[[X]], %[[Y]]
func.func private @gather_and_slice(%x: tensor<2x4xf32>, %y: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %0 = dist.all_gather %x dim 1 over "sp" : tensor<2x4xf32> -> tensor<2x8xf32>
  %1 = dist.all_slice %0 dim 1 over "sp" : tensor<2x8xf32> -> tensor<2x4xf32>
  %2 = dist.all_slice %y dim 1 over "sp" : tensor<2x4xf32> -> tensor<2x2xf32>
  %3 = dist.all_gather %2 dim 1 over "sp" : tensor<2x2xf32> -> tensor<2x4xf32>
  return %1, %3 : tensor<2x4xf32>, tensor<2x4xf32>
}

// What is gathered is wanted elsewhere, too: it stays, the slice goes.
// CHECK-LABEL: func private @shared(
// CHECK-SAME: %[[X:.*]]: tensor<2x4xf32>)
// CHECK-NEXT: %[[ALL:.*]] = dist.all_gather %[[X]] dim 1
// CHECK-NEXT: return %[[ALL]], %[[X]]
func.func private @shared(%x: tensor<2x4xf32>) -> (tensor<2x8xf32>, tensor<2x4xf32>) {
  %0 = dist.all_gather %x dim 1 over "sp" : tensor<2x4xf32> -> tensor<2x8xf32>
  %1 = dist.all_slice %0 dim 1 over "sp" : tensor<2x8xf32> -> tensor<2x4xf32>
  return %0, %1 : tensor<2x8xf32>, tensor<2x4xf32>
}
