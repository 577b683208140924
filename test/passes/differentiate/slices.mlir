// RUN: dist-opt %s -split-input-file --dist-differentiate="cotangent=dy" | FileCheck %s

// Slices that together are all of a value have one cotangent: a concatenation,
// in the order of their places.

// CHECK: %[[ALL:.*]] = tensor.concat dim(1) %[[DY:.*]], %{{.*}} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x6xf32>
// CHECK-NOT: tensor.pad
// CHECK: return %{{.*}}, %[[ALL]]
func.func @main(%w: tensor<4x6xf32> {dist.parameter = "w"}) -> (tensor<4x3xf32> {dist.output = "y"}) {
  %b = tensor.extract_slice %w[0, 3] [4, 3] [1, 1] : tensor<4x6xf32> to tensor<4x3xf32>
  %a = tensor.extract_slice %w[0, 0] [4, 3] [1, 1] : tensor<4x6xf32> to tensor<4x3xf32>
  %n = math.exp %b : tensor<4x3xf32>
  %y = arith.addf %a, %n : tensor<4x3xf32>
  return %y : tensor<4x3xf32>
}

// -----

// Nothing is cut out of a cotangent for what has no elements.

// CHECK-LABEL: func.func @empty
// CHECK-NOT: tensor.extract_slice
// CHECK: return
func.func @empty(%x: tensor<0x4xf32> {dist.parameter = "x"}) -> (tensor<3x4xf32> {dist.output = "y"}) {
  %c = arith.constant 1.0 : f32
  %y = tensor.pad %x low[3, 0] high[0, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %c : f32
  } : tensor<0x4xf32> to tensor<3x4xf32>
  return %y : tensor<3x4xf32>
}
