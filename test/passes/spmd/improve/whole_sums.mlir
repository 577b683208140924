// What reduces over an axis that is done in turns gets its operands whole.
// RUN: dist-opt %s --dist-propagate --dist-insert-reshards --dist-improve-reshards --dist-whole-sums=axis=chunk --dist-verify-placed --split-input-file --verify-diagnostics | FileCheck %s
// RUN: dist-opt %s --dist-spmd=turns=chunk --split-input-file --verify-diagnostics | FileCheck %s --check-prefix=LOCAL

// A gradient of weights: the product over all rows is one, and what is left to add up is that of the other axis.
// CHECK-LABEL: func.func @weights
// CHECK: %[[X:.*]] = dist.reshard %arg0 <@m, [{"dp", "chunk"}, {}]> to <@m, [{"dp"}, {}]> cause "linalg.contract (h) reduces over {{.*}}, which is done whole"
// CHECK: %[[Y:.*]] = dist.reshard %arg1 <@m, [{"dp", "chunk"}, {}]> to <@m, [{"dp"}, {}]>
// CHECK: %[[G:.*]] = linalg.contract {{.*}}partial = sum {"dp"}>]} ins(%[[X]], %[[Y]] :
// The second reader takes what is there.
// CHECK-NOT: dist.reshard %arg1
// CHECK: linalg.reduce {{.*}}ins(%[[Y]] :
// CHECK: dist.reshard %[[G]] <@m, [{}, {}], partial = sum {"dp"}> to <@m, [{}, {}]>
// LOCAL-LABEL: func.func @weights
// LOCAL-COUNT-2: dist.all_gather {{.*}} dim 0 over "chunk"
// LOCAL-COUNT-2: dist.all_reduce {{.*}} sum over "dp"
// LOCAL-NOT: dist.all
dist.mesh @m ["chunk" = 2, "dp" = 2]
#x = affine_map<(r, i, j) -> (r, i)>
#y = affine_map<(r, i, j) -> (r, j)>
#g = affine_map<(r, i, j) -> (i, j)>
func.func @weights(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@m, [{"dp", "chunk"}, {}]>},
                   %dy: tensor<8x6xf32> {dist.sharding = #dist.sharding<@m, [{"dp", "chunk"}, {}]>})
    -> (tensor<4x6xf32> {dist.sharding = #dist.sharding<@m, [{}, {}]>}, tensor<6xf32> {dist.sharding = #dist.sharding<@m, [{}]>}) {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %0 = linalg.contract indexing_maps = [#x, #y, #g] {dist.scope = "h"} ins(%x, %dy : tensor<8x4xf32>, tensor<8x6xf32>) outs(%f : tensor<4x6xf32>) -> tensor<4x6xf32>
  %e1 = tensor.empty() : tensor<6xf32>
  %f1 = linalg.fill ins(%z : f32) outs(%e1 : tensor<6xf32>) -> tensor<6xf32>
  %1 = linalg.reduce ins(%dy : tensor<8x6xf32>) outs(%f1 : tensor<6xf32>) dimensions = [0] {dist.scope = "h"}
    (%in: f32, %out: f32) {
      %s = arith.addf %out, %in : f32
      linalg.yield %s : f32
    }
  return %0, %1 : tensor<4x6xf32>, tensor<6xf32>
}

// -----

// What is made where it is used is made whole; what commutes with the sum has nothing left to pass on.
// CHECK-LABEL: func.func @made
// CHECK: %[[X:.*]] = dist.reshard %arg0
// CHECK: %[[ONES:.*]] = linalg.fill {dist.shardings = [#dist.sharding<@m, [{}, {}]>]}
// CHECK: %[[S:.*]] = linalg.contract {{.*}}dist.shardings = [#dist.sharding<@m, [{}]>]} ins(%[[X]], %[[ONES]] :
// CHECK: %[[N:.*]] = linalg.negf {dist.shardings = [#dist.sharding<@m, [{}]>]} ins(%[[S]] :
// CHECK: return %[[N]]
// LOCAL-LABEL: func.func @made
// LOCAL: dist.all_gather %arg0 dim 0 over "chunk"
// LOCAL-NOT: dist.all
dist.mesh @m ["chunk" = 2]
#all = affine_map<(r, i) -> (r, i)>
#col = affine_map<(r, i) -> (i)>
func.func @made(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@m, [{"chunk"}, {}]>})
    -> (tensor<4xf32> {dist.sharding = #dist.sharding<@m, [{}]>}) {
  %z = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %e1 = tensor.empty() : tensor<8x4xf32>
  %ones = linalg.fill ins(%one : f32) outs(%e1 : tensor<8x4xf32>) -> tensor<8x4xf32>
  %0 = linalg.contract indexing_maps = [#all, #all, #col] ins(%x, %ones : tensor<8x4xf32>, tensor<8x4xf32>) outs(%f : tensor<4xf32>) -> tensor<4xf32>
  %1 = linalg.negf ins(%0 : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// Code of one's own stays as it is.
dist.mesh @m ["chunk" = 2]
func.func @own(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@m, [{"chunk"}, {}]>})
    -> (tensor<4xf32> {dist.sharding = #dist.sharding<@m, [{}]>}) {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %0 = linalg.reduce ins(%x : tensor<8x4xf32>) outs(%f : tensor<4xf32>) dimensions = [0]
    (%in: f32, %out: f32) {
      %s = arith.addf %out, %in : f32
      linalg.yield %s : f32
    }
  // expected-error@below {{reduces over "chunk" by code of its own; as one device is to do that axis in turns, what reduces over it must be an op}}
  %1 = dist.manual_reshard %0 <@m, [{}], partial = sum {"chunk"}> to <@m, [{}]> : tensor<4xf32> {
  ^bb0(%part: tensor<4xf32>):
    %2 = dist.all_reduce %part sum over "chunk" : tensor<4xf32>
    dist.yield %2 : tensor<4xf32>
  }
  return %1 : tensor<4xf32>
}
