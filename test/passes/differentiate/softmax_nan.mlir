// RUN: dist-opt %s --split-input-file --dist-differentiate="of=y cotangent=dy wrt=x" | FileCheck %s

// Where all that uses a softmax takes something else for NaN, nothing comes back through a row that is NaN.

// CHECK-LABEL: func.func @main
// CHECK: linalg.softmax
// CHECK: arith.cmpf uno
// CHECK: arith.subf
// CHECK-NEXT: %[[D:.*]] = arith.mulf
// CHECK-NEXT: %[[NAN:.*]] = arith.cmpf uno
// CHECK-NEXT: arith.select %[[NAN]], %{{.*}}, %[[D]]
#all = affine_map<(i, j) -> (i, j)>
func.func @main(%x: tensor<4x5xf32> {dist.input = "x"}) -> (tensor<4x5xf32> {dist.output = "y"}) {
  %empty = tensor.empty() : tensor<4x5xf32>
  %flags = tensor.empty() : tensor<4x5xi1>
  %s = linalg.softmax dimension(1) ins(%x : tensor<4x5xf32>) outs(%empty : tensor<4x5xf32>) -> tensor<4x5xf32>
  %nan = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<4x5xf32>) outs(%flags : tensor<4x5xi1>) {
  ^bb0(%a: f32, %b: i1):
    %c = arith.cmpf uno, %a, %a : f32
    linalg.yield %c : i1
  } -> tensor<4x5xi1>
  %zero = arith.constant 0.0 : f32
  %y = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%nan, %s : tensor<4x5xi1>, tensor<4x5xf32>) outs(%empty : tensor<4x5xf32>) {
  ^bb0(%a: i1, %b: f32, %c: f32):
    %d = arith.select %a, %zero, %b : f32
    linalg.yield %d : f32
  } -> tensor<4x5xf32>
  return %y : tensor<4x5xf32>
}

// -----

// Where it is only looked at, its gradient is NaN as it is.

// CHECK-LABEL: func.func @main
// CHECK: linalg.softmax
// CHECK: arith.cmpf uno
// CHECK-NOT: arith.cmpf uno
// CHECK-NOT: arith.select
// CHECK: return
#all = affine_map<(i, j) -> (i, j)>
func.func @main(%x: tensor<4x5xf32> {dist.input = "x"}) -> (tensor<4x5xf32> {dist.output = "y"}, tensor<4x5xi1> {dist.output = "nan"}) {
  %empty = tensor.empty() : tensor<4x5xf32>
  %flags = tensor.empty() : tensor<4x5xi1>
  %y = linalg.softmax dimension(1) ins(%x : tensor<4x5xf32>) outs(%empty : tensor<4x5xf32>) -> tensor<4x5xf32>
  %nan = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%y : tensor<4x5xf32>) outs(%flags : tensor<4x5xi1>) {
  ^bb0(%a: f32, %b: i1):
    %c = arith.cmpf uno, %a, %a : f32
    linalg.yield %c : i1
  } -> tensor<4x5xi1>
  return %y, %nan : tensor<4x5xf32>, tensor<4x5xi1>
}
