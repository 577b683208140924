// RUN: dist-opt %s --dist-differentiate="cotangent=dy wrt=x" | FileCheck %s

// The gradient of a softmax in its parts is made of the softmax alone: neither the largest of each row nor the
// numerators are needed, and the largest gets no gradient.

// CHECK: math.exp
// CHECK: %[[Y:.*]] = linalg.generic {{.*}}ins(%{{.*}}, %{{.*}} : tensor<4x5xf32>, tensor<4xf32>)
// CHECK-NEXT: ^bb0
// CHECK-NEXT: arith.divf
// CHECK: %[[SUMS:.*]] = linalg.generic {{.*}}ins(%[[DY:.*]], %[[Y]] : tensor<4x5xf32>, tensor<4x5xf32>) outs(%{{.*}} : tensor<4xf32>)
// CHECK: %[[DX:.*]] = linalg.generic {{.*}}ins(%[[DY]], %[[Y]], %[[SUMS]] : tensor<4x5xf32>, tensor<4x5xf32>, tensor<4xf32>)
// CHECK-NOT: linalg.generic
// CHECK: return %[[Y]], %[[DX]]

#all = affine_map<(i, j) -> (i, j)>
#rows = affine_map<(i, j) -> (i)>
func.func @main(%x: tensor<4x5xf32> {dist.input = "x"}) -> (tensor<4x5xf32> {dist.output = "y"}) {
  %empty = tensor.empty() : tensor<4x5xf32>
  %some = tensor.empty() : tensor<4xf32>
  %least = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %lows = linalg.fill ins(%least : f32) outs(%some : tensor<4xf32>) -> tensor<4xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%some : tensor<4xf32>) -> tensor<4xf32>
  %m = linalg.generic {indexing_maps = [#all, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x5xf32>) outs(%lows : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.maximumf %a, %b : f32
    linalg.yield %c : f32
  } -> tensor<4xf32>
  %e = linalg.generic {indexing_maps = [#all, #rows, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x, %m : tensor<4x5xf32>, tensor<4xf32>) outs(%empty : tensor<4x5xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %c = arith.subf %a, %b : f32
    %d = math.exp %c : f32
    linalg.yield %d : f32
  } -> tensor<4x5xf32>
  %s = linalg.generic {indexing_maps = [#all, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%e : tensor<4x5xf32>) outs(%zeros : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    linalg.yield %c : f32
  } -> tensor<4xf32>
  %y = linalg.generic {indexing_maps = [#all, #rows, #all], iterator_types = ["parallel", "parallel"]}
      ins(%e, %s : tensor<4x5xf32>, tensor<4xf32>) outs(%empty : tensor<4x5xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %c = arith.divf %a, %b : f32
    linalg.yield %c : f32
  } -> tensor<4x5xf32>
  return %y : tensor<4x5xf32>
}
