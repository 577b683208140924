// RUN: dist-opt %s --dist-differentiate="cotangent=dy wrt=x" | FileCheck %s

// A constraint holds for the cotangent as well; of a sync nothing is left but
// that the cotangent lies as the value before it did, and one that speaks of the
// gradient, which acts on it. Each contribution follows its primal.

// CHECK: func.func @main(%[[X:.*]]: tensor<8x4xf32> {{.*}}, %[[DY:.*]]: tensor<8x4xf32> {dist.input = "dy"})
// CHECK: dist.sync {{.*}} bwd_post all_reduce over "tp"
// CHECK: %[[CUT:.*]] = dist.sharding_constraint
// CHECK: %[[Y:.*]] = dist.sync {{.*}} fwd_post all_gather dim 0 over "tp"
// CHECK: %[[FOLLOWS:.*]] = dist.follow %[[DY]] like %[[Y]] : tensor<8x4xf32>
// CHECK: %[[MOVED:.*]] = dist.follow %[[FOLLOWS]] like %[[CUT]] moved {dist.backward}
// CHECK: %[[LIKE:.*]] = dist.sharding_constraint %[[MOVED]] <@m, [{"tp"}, {?}]> cause "a.mlir:1" {dist.backward} : tensor<8x4xf32>
// CHECK: %[[LIKE2:.*]] = dist.follow %[[LIKE]] like
// CHECK: %[[REDUCED:.*]] = dist.sync %[[LIKE2]] fwd_post all_reduce over "tp"
// CHECK: %[[DX:.*]] = dist.follow %[[REDUCED]] like %[[X]] moved
// CHECK: return %{{.*}}, %[[DX]]
dist.mesh @m ["tp" = 2]
func.func @main(%x: tensor<8x4xf32> {dist.input = "x"}) -> (tensor<8x4xf32> {dist.output = "y"}) {
  %0 = dist.sync %x bwd_post all_reduce over "tp" : tensor<8x4xf32>
  %1 = dist.sharding_constraint %0 <@m, [{"tp"}, {?}]> cause "a.mlir:1" : tensor<8x4xf32>
  %2 = dist.sync %1 fwd_post all_gather dim 0 over "tp" : tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}
