// RUN: dist-opt %s --dist-differentiate="cotangent=dy wrt=x" | FileCheck %s

// A constraint holds for the cotangent as well; of a sync nothing is left but
// one that speaks of the gradient, which acts on it.

// CHECK: func.func @main(%[[X:.*]]: tensor<8x4xf32> {{.*}}, %[[DY:.*]]: tensor<8x4xf32> {dist.input = "dy"})
// CHECK: dist.sync {{.*}} bwd_post all_reduce over "tp"
// CHECK: dist.sharding_constraint
// CHECK: dist.sync {{.*}} fwd_post all_gather dim 0 over "tp"
// CHECK: %[[LIKE:.*]] = dist.sharding_constraint %[[DY]] <@m, [{"tp"}, {?}]> cause "a.mlir:1" : tensor<8x4xf32>
// CHECK: %[[REDUCED:.*]] = dist.sync %[[LIKE]] fwd_post all_reduce over "tp"
// CHECK: return %{{.*}}, %[[REDUCED]]
dist.mesh @m ["tp" = 2]
func.func @main(%x: tensor<8x4xf32> {dist.input = "x"}) -> (tensor<8x4xf32> {dist.output = "y"}) {
  %0 = dist.sync %x bwd_post all_reduce over "tp" : tensor<8x4xf32>
  %1 = dist.sharding_constraint %0 <@m, [{"tp"}, {?}]> cause "a.mlir:1" : tensor<8x4xf32>
  %2 = dist.sync %1 fwd_post all_gather dim 0 over "tp" : tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}
