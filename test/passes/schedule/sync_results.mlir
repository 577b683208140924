// A sync of a module with several results. Where it reduces, those are meant that are partial.
// RUN: dist-opt %s --split-input-file --verify-diagnostics --dist-apply-schedule=report=false | FileCheck %s

#x = affine_map<(s, n, k) -> (s, k)>
#w = affine_map<(s, n, k) -> (n, k)>
#y = affine_map<(s, n, k) -> (s, n)>

// The second product is partial, as its input features are cut. The scores and their sums, which are made by reductions
// too, are complete. A negative dimension counts from the end.

// CHECK-LABEL: func.func @partial
// CHECK: %[[SCORES:.*]] = linalg.contract {{.*}}dist.scope = "m.gate"
// CHECK: %[[SUM:.*]] = linalg.reduce {{.*}}ins(%[[SCORES]]
// CHECK: %[[Y:.*]] = linalg.contract {{.*}}dist.scope = "m.down"
// CHECK: %[[SYNC:.*]] = dist.sync %[[Y]] fwd_post reduce_scatter dim 0 over "tp"
// CHECK-NOT: = dist.sync
// CHECK: return %[[SCORES]], %[[SUM]], %[[SYNC]]
dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  dist.shard "m.down" row over "tp"
  dist.sync "m" fwd_post reduce_scatter dim -2 over "tp" expect 1
}
func.func @partial(%x: tensor<6x8xf32>, %h: tensor<6x8xf32>, %g: tensor<4x8xf32> {dist.parameter = "m.gate.weight"},
    %w: tensor<8x8xf32> {dist.parameter = "m.down.weight"}) -> (tensor<6x4xf32>, tensor<6xf32>, tensor<6x8xf32>) {
  %e4 = tensor.empty() : tensor<6x4xf32>
  %e1 = tensor.empty() : tensor<6xf32>
  %e8 = tensor.empty() : tensor<6x8xf32>
  %scores = linalg.contract indexing_maps = [#x, #w, #y] {dist.scope = "m.gate"} ins(%x, %g : tensor<6x8xf32>, tensor<4x8xf32>) outs(%e4 : tensor<6x4xf32>) -> tensor<6x4xf32>
  %sum = linalg.reduce { arith.addf } ins(%scores : tensor<6x4xf32>) outs(%e1 : tensor<6xf32>) dimensions = [1] {dist.scope = "m"}
  %y = linalg.contract indexing_maps = [#x, #w, #y] {dist.scope = "m.down"} ins(%h, %w : tensor<6x8xf32>, tensor<8x8xf32>) outs(%e8 : tensor<6x8xf32>) -> tensor<6x8xf32>
  %a = linalg.exp ins(%scores : tensor<6x4xf32>) outs(%e4 : tensor<6x4xf32>) -> tensor<6x4xf32>
  return %scores, %sum, %y : tensor<6x4xf32>, tensor<6xf32>, tensor<6x8xf32>
}

// -----

#x = affine_map<(s, n, k) -> (s, k)>
#w = affine_map<(s, n, k) -> (n, k)>
#y = affine_map<(s, n, k) -> (s, n)>

// None is: all are named, with who makes them.

dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  // expected-error@below {{module "m" has 2 results that a sum makes, but none is partial over "tp"; a 'row' or 'experts' directive leaves one so. A number says which is meant, as in 'fwd_post 0', or name the module that makes it}}
  dist.sync "m" fwd_post all_reduce over "tp"
}
func.func @none(%x: tensor<6x8xf32>, %g: tensor<4x8xf32> {dist.parameter = "m.gate.weight"},
    %w: tensor<8x8xf32> {dist.parameter = "m.down.weight"}) -> (tensor<6x4xf32>, tensor<6x8xf32>) {
  %e4 = tensor.empty() : tensor<6x4xf32>
  %e8 = tensor.empty() : tensor<6x8xf32>
  // expected-note@below {{output 0 is 'tensor<6x4xf32>', which "m.gate" makes}}
  %scores = linalg.contract indexing_maps = [#x, #w, #y] {dist.scope = "m.gate"} ins(%x, %g : tensor<6x8xf32>, tensor<4x8xf32>) outs(%e4 : tensor<6x4xf32>) -> tensor<6x4xf32>
  // expected-note@below {{output 1 is 'tensor<6x8xf32>', which "m.down" makes}}
  %y = linalg.contract indexing_maps = [#x, #w, #y] {dist.scope = "m.down"} ins(%x, %w : tensor<6x8xf32>, tensor<8x8xf32>) outs(%e8 : tensor<6x8xf32>) -> tensor<6x8xf32>
  return %scores, %y : tensor<6x4xf32>, tensor<6x8xf32>
}

// -----

// Of other communication, those that have the dimension; or the one that a number names.

// CHECK-LABEL: func.func @named
// CHECK: %[[A:.*]] = linalg.exp {{.*}}tensor<6x4xf32>
// CHECK: %[[SECOND:.*]] = dist.sync %[[A]] fwd_post scatter dim 1 over "tp"
// CHECK: %[[S:.*]] = linalg.reduce
// CHECK: %[[B:.*]] = linalg.exp {{.*}}tensor<6x4xf32>
// CHECK: %[[BOTH:.*]] = dist.sync %[[B]] fwd_post scatter dim 1 over "tp"
// CHECK: %[[THIRD:.*]] = dist.sync %[[BOTH]] fwd_post all_gather dim 1 over "tp"
// CHECK: return %[[SECOND]], %[[S]], %[[THIRD]]
dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  dist.sync "m" fwd_post scatter dim 1 over "tp" expect 2
  dist.sync "m" fwd_post 2 all_gather dim -1 over "tp" expect 1
}
func.func @named(%x: tensor<6x4xf32>) -> (tensor<6x4xf32>, tensor<6xf32>, tensor<6x4xf32>) {
  %e = tensor.empty() : tensor<6x4xf32>
  %e1 = tensor.empty() : tensor<6xf32>
  %a = linalg.exp {dist.scope = "m"} ins(%x : tensor<6x4xf32>) outs(%e : tensor<6x4xf32>) -> tensor<6x4xf32>
  %s = linalg.reduce { arith.addf } ins(%x : tensor<6x4xf32>) outs(%e1 : tensor<6xf32>) dimensions = [1] {dist.scope = "m"}
  %b = linalg.exp {dist.scope = "m"} ins(%x : tensor<6x4xf32>) outs(%e : tensor<6x4xf32>) -> tensor<6x4xf32>
  return %a, %s, %b : tensor<6x4xf32>, tensor<6xf32>, tensor<6x4xf32>
}

// -----

dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  // expected-error@below {{module "m" has 1 output, and no output 1}}
  dist.sync "m" fwd_post 1 scatter dim 1 over "tp"
}
func.func @no_such(%x: tensor<6x4xf32>) -> tensor<6x4xf32> {
  %e = tensor.empty() : tensor<6x4xf32>
  // expected-note@below {{output 0 is 'tensor<6x4xf32>'}}
  %a = linalg.exp {dist.scope = "m"} ins(%x : tensor<6x4xf32>) outs(%e : tensor<6x4xf32>) -> tensor<6x4xf32>
  return %a : tensor<6x4xf32>
}
