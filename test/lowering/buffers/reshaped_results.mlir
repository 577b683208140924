// A result is computed in the memory for it, in the shape that it is computed in; one that something else reads is copied.
//
// RUN: dist-opt %s --dist-decompose-ops --dist-bufferize --canonicalize --split-input-file | FileCheck %s

#in = affine_map<(i, r, j) -> (i, j)>
#out = affine_map<(i, r, j) -> (i, r, j)>

// CHECK-LABEL: func.func @repeated
// CHECK-SAME: (%[[X:.*]]: memref<3x4xf32>, %[[Y:.*]]: memref<24xf32>)
// CHECK: %[[APART:.*]] = memref.expand_shape %[[Y]] {{\[}}[0, 1, 2]{{\]}} {{.*}} into memref<3x2x4xf32>
// CHECK-NOT: memref.alloc
// CHECK: linalg.generic {{.*}} ins(%[[X]] {{.*}} outs(%[[APART]]
// CHECK-NOT: memref.copy
func.func @repeated(%x: tensor<3x4xf32>) -> tensor<24xf32> {
  %e = tensor.empty() : tensor<3x2x4xf32>
  %y = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<3x4xf32>) outs(%e : tensor<3x2x4xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<3x2x4xf32>
  %rows = tensor.collapse_shape %y [[0, 1], [2]] : tensor<3x2x4xf32> into tensor<6x4xf32>
  %flat = tensor.collapse_shape %rows [[0, 1]] : tensor<6x4xf32> into tensor<24xf32>
  return %flat : tensor<24xf32>
}

// -----

// CHECK-LABEL: func.func @both
// CHECK-SAME: %[[Y:[a-z0-9]*]]: memref<12xf32>, %[[Z:[a-z0-9]*]]: memref<3x4xf32>)
// CHECK: math.exp
// CHECK: linalg.copy
// CHECK: linalg.copy
func.func @both(%x: tensor<3x4xf32>) -> (tensor<12xf32>, tensor<3x4xf32>) {
  %e = tensor.empty() : tensor<3x4xf32>
  %y = linalg.exp ins(%x : tensor<3x4xf32>) outs(%e : tensor<3x4xf32>) -> tensor<3x4xf32>
  %flat = tensor.collapse_shape %y [[0, 1]] : tensor<3x4xf32> into tensor<12xf32>
  return %flat, %y : tensor<12xf32>, tensor<3x4xf32>
}
