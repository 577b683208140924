// RUN: dist-opt %s --dist-differentiate="cotangent=dy wrt=**" | FileCheck %s
// RUN: dist-opt %s --dist-differentiate="cotangent=dy" | FileCheck %s --check-prefix=PARAMETERS
// RUN: dist-opt %s --dist-differentiate="cotangent=dy wrt=fc.{weight}" | FileCheck %s --check-prefix=GLOB

// A contraction's gradients are contractions of the cotangent with the other
// operand; a bias gets a sum. They belong to the module that the op is of, and
// are placed as what they are gradients of.

// CHECK-DAG: #[[ROWS:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG: #[[WEIGHT:.*]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG: #[[X:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK: func.func @main(
// CHECK-SAME: %[[XARG:.*]]: tensor<4x8xf32> {dist.input = "x"},
// CHECK-SAME: %[[W:.*]]: tensor<8x16xf32> {dist.parameter = "fc.weight", dist.sharding = #dist.sharding<@m, [{?}, {"tp"}]>},
// CHECK-SAME: %[[B:.*]]: tensor<16xf32> {dist.parameter = "fc.bias"},
// CHECK-SAME: %[[DY:.*]]: tensor<4x16xf32> {dist.input = "dy"})
// CHECK-SAME: (tensor<4x16xf32> {dist.output = "y"},
// CHECK-SAME: tensor<4x8xf32> {dist.output = "x.grad"},
// CHECK-SAME: tensor<8x16xf32> {dist.output = "fc.weight.grad", dist.sharding = #dist.sharding<@m, [{?}, {"tp"}]>},
// CHECK-SAME: tensor<16xf32> {dist.output = "fc.bias.grad"})
// CHECK: %[[FDY:.*]] = dist.follow %[[DY]] like
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}}iterator_types = ["reduction", "parallel"]} ins(%[[FDY]] {{.*}} attrs = {{.*}}dist.scope = "fc"
// CHECK: %[[FSUM:.*]] = dist.follow %[[SUM]] like %[[B]]
// CHECK: %[[DX:.*]] = linalg.contract indexing_maps = [#[[ROWS]], #[[WEIGHT]], #[[X]]] {dist.backward, dist.scope = "fc"} ins(%[[FDY]], %[[W]]
// CHECK: %[[FDX:.*]] = dist.follow %[[DX]] like %[[XARG]]
// CHECK: %[[DW:.*]] = linalg.contract indexing_maps = [#[[X]], #[[ROWS]], #[[WEIGHT]]] {dist.backward, dist.scope = "fc"} ins(%[[XARG]], %[[FDY]]
// CHECK: %[[FDW:.*]] = dist.follow %[[DW]] like %[[W]]
// CHECK: return %{{.*}}, %[[FDX]], %[[FDW]], %[[FSUM]]

// PARAMETERS-NOT: x.grad
// PARAMETERS: dist.output = "fc.weight.grad"
// PARAMETERS-SAME: dist.output = "fc.bias.grad"

// GLOB: dist.output = "fc.weight.grad"
// GLOB-NOT: bias.grad
dist.mesh @m ["tp" = 2]
func.func @main(%x: tensor<4x8xf32> {dist.input = "x"},
                %w: tensor<8x16xf32> {dist.parameter = "fc.weight", dist.sharding = #dist.sharding<@m, [{?}, {"tp"}]>},
                %b: tensor<16xf32> {dist.parameter = "fc.bias"})
    -> (tensor<4x16xf32> {dist.output = "y"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x16xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4x16xf32>) -> tensor<4x16xf32>
  %m = linalg.matmul {dist.scope = "fc"} ins(%x, %w : tensor<4x8xf32>, tensor<8x16xf32>) outs(%z : tensor<4x16xf32>) -> tensor<4x16xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%m, %b : tensor<4x16xf32>, tensor<16xf32>) outs(%e : tensor<4x16xf32>) attrs = {dist.scope = "fc"} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}
