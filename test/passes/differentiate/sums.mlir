// RUN: dist-opt %s --dist-differentiate="wrt=w" | FileCheck %s

// A product that is summed over a loop of one of its factors alone is no contraction of the two.

// CHECK-NOT: linalg.contract
// CHECK: %[[GRADIENT:.*]] = linalg.generic {{.*}}iterator_types = ["reduction", "parallel"]} ins(%{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<f32>)
// CHECK: return %{{.*}}, %[[GRADIENT]]

func.func @main(%x: tensor<4x8xf32> {dist.input = "x"},
                %w: tensor<8xf32> {dist.input = "w"}) -> (tensor<f32> {dist.output = "y"}) {
  %0 = arith.constant dense<0.0> : tensor<f32>
  %1 = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> ()>],
      iterator_types = ["reduction", "reduction"]}
      ins(%x, %w : tensor<4x8xf32>, tensor<8xf32>) outs(%0 : tensor<f32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %1 : tensor<f32>
}
