// Experts whose weights lie in one parameter each, of which tokens look up their expert's.
// RUN: dist-opt %s --split-input-file --dist-apply-schedule=report=false | FileCheck %s
// RUN: dist-opt %s --split-input-file --dist-apply-schedule=report=false --dist-spmd | FileCheck %s --check-prefix=SPMD

#xw = affine_map<(t, n, k) -> (t, k)>
#w = affine_map<(t, n, k) -> (t, n, k)>
#y = affine_map<(t, n, k) -> (t, n)>
#id = affine_map<(t, n) -> (t, n)>

// The sigmoid makes a half of zero: it is masked. What multiplies by it is not.

// CHECK-LABEL: func.func @main
// CHECK-SAME: dist.parameter = "m.up", dist.sharding = #dist.sharding<@m, [{"ep"}, {?}, {?}]>
// CHECK-SAME: dist.parameter = "m.down", dist.sharding = #dist.sharding<@m, [{"ep"}, {?}, {?}]>
// CHECK: %[[ONES:.*]] = arith.constant {dist.scope = "m.act"} dense<1.000000e+00> : tensor<5xf32>
// CHECK: %[[CUT:.*]] = dist.sharding_constraint %[[ONES]] <@m, [{"ep"}]> cause "{{.*}}: dist.shard \"m\" experts over \"ep\" expect 2"
// CHECK: %[[MASK:.*]] = tensor.gather %[[CUT]]{{.*}} -> tensor<6xf32>
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[MASK]] : tensor<6x12xf32>, tensor<6xf32>)
// CHECK: math.exp
// CHECK: select
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<6x12xf32>, tensor<6x12xf32>)
// CHECK-NOT: select
// CHECK: return

// Both weights are looked up where they are, and one sum is completed.

// SPMD-LABEL: func.func @main
// SPMD-SAME: tensor<2x12x8xf32> {dist.global_type = tensor<5x12x8xf32>, dist.parameter = "m.up"
// SPMD-NOT: dist.all_gather
// SPMD: dist.all_reduce %{{.*}} sum over "ep" {{.*}} : tensor<6x8xf32>
// SPMD-NOT: dist.all_
// SPMD: return
dist.mesh @m ["ep" = 3]
dist.schedule @s on @m {
  dist.shard "m" experts over "ep" expect 2
}
func.func @main(%x: tensor<6x8xf32> {dist.input = "x"}, %r: tensor<6x1xindex> {dist.input = "r"},
                %up: tensor<5x12x8xf32> {dist.parameter = "m.up"},
                %down: tensor<5x8x12xf32> {dist.parameter = "m.down"}) -> tensor<6x8xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.gather %up[%r] gather_dims([0]) {dist.scope = "m"} : (tensor<5x12x8xf32>, tensor<6x1xindex>) -> tensor<6x12x8xf32>
  %e = tensor.empty() : tensor<6x12xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<6x12xf32>) -> tensor<6x12xf32>
  %1 = linalg.contract indexing_maps = [#xw, #w, #y] {dist.scope = "m"}
         ins(%x, %0 : tensor<6x8xf32>, tensor<6x12x8xf32>) outs(%f : tensor<6x12xf32>) -> tensor<6x12xf32>
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
         ins(%1 : tensor<6x12xf32>) outs(%e : tensor<6x12xf32>) attrs = {dist.scope = "m.act"} {
  ^bb0(%in: f32, %out: f32):
    %one = arith.constant 1.0 : f32
    %a = arith.negf %in : f32
    %b = math.exp %a : f32
    %c = arith.addf %b, %one : f32
    %d = arith.divf %one, %c : f32
    linalg.yield %d : f32
  } -> tensor<6x12xf32>
  %3 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
         ins(%1, %2 : tensor<6x12xf32>, tensor<6x12xf32>) outs(%e : tensor<6x12xf32>) attrs = {dist.scope = "m.act"} {
  ^bb0(%in: f32, %in2: f32, %out: f32):
    %a = arith.mulf %in, %in2 : f32
    linalg.yield %a : f32
  } -> tensor<6x12xf32>
  %4 = tensor.gather %down[%r] gather_dims([0]) {dist.scope = "m"} : (tensor<5x8x12xf32>, tensor<6x1xindex>) -> tensor<6x8x12xf32>
  %e2 = tensor.empty() : tensor<6x8xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<6x8xf32>) -> tensor<6x8xf32>
  %5 = linalg.contract indexing_maps = [#xw, #w, #y] {dist.scope = "m"}
         ins(%3, %4 : tensor<6x12xf32>, tensor<6x8x12xf32>) outs(%f2 : tensor<6x8xf32>) -> tensor<6x8xf32>
  return %5 : tensor<6x8xf32>
}

// -----

// All experts are applied to all tokens, and what they make is weighed and added up.

// CHECK-LABEL: func.func @main
// CHECK-SAME: dist.parameter = "m.up", dist.sharding = #dist.sharding<@m, [{"ep"}, {?}, {?}]>
// CHECK-SAME: dist.parameter = "m.down", dist.sharding = #dist.sharding<@m, [{"ep"}, {?}, {?}]>

// SPMD-LABEL: func.func @main
// SPMD: linalg.contract {{.*}} -> tensor<2x6x12xf32>
// SPMD: linalg.contract {{.*}} -> tensor<2x6x8xf32>
// SPMD: dist.all_reduce %{{.*}} sum over "ep" {{.*}} : tensor<6x8xf32>
// SPMD-NOT: dist.all_
// SPMD: return
dist.mesh @m ["ep" = 2]
dist.schedule @s on @m {
  dist.shard "m" experts over "ep"
}
func.func @main(%x: tensor<6x8xf32>, %r: tensor<6x4xf32>, %up: tensor<4x12x8xf32> {dist.parameter = "m.up"},
                %down: tensor<4x8x12xf32> {dist.parameter = "m.down"}) -> tensor<6x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x6x12xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x6x12xf32>) -> tensor<4x6x12xf32>
  %0 = linalg.contract indexing_maps = [affine_map<(e, t, n, k) -> (t, k)>, affine_map<(e, t, n, k) -> (e, n, k)>, affine_map<(e, t, n, k) -> (e, t, n)>]
         {dist.scope = "m"} ins(%x, %up : tensor<6x8xf32>, tensor<4x12x8xf32>) outs(%f : tensor<4x6x12xf32>) -> tensor<4x6x12xf32>
  %1 = math.tanh %0 {dist.scope = "m"} : tensor<4x6x12xf32>
  %e2 = tensor.empty() : tensor<4x6x8xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %2 = linalg.contract indexing_maps = [affine_map<(e, t, n, k) -> (e, t, k)>, affine_map<(e, t, n, k) -> (e, n, k)>, affine_map<(e, t, n, k) -> (e, t, n)>]
         {dist.scope = "m"} ins(%1, %down : tensor<4x6x12xf32>, tensor<4x8x12xf32>) outs(%f2 : tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %e3 = tensor.empty() : tensor<6x8xf32>
  %f3 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<6x8xf32>) -> tensor<6x8xf32>
  %3 = linalg.contract indexing_maps = [affine_map<(t, n, e) -> (e, t, n)>, affine_map<(t, n, e) -> (t, e)>, affine_map<(t, n, e) -> (t, n)>]
         {dist.scope = "m"} ins(%2, %r : tensor<4x6x8xf32>, tensor<6x4xf32>) outs(%f3 : tensor<6x8xf32>) -> tensor<6x8xf32>
  return %3 : tensor<6x8xf32>
}

// -----

// Biases of experts, and gate and up interleaved: two slices of one row, both of which need the mask. The row stays
// pending for both, and the weighted sums are completed once.

// SPMD-LABEL: func.func @main
// SPMD-SAME: tensor<2x12xf32> {dist.global_type = tensor<4x12xf32>, dist.parameter = "m.up_bias"
// SPMD-NOT: dist.all_
// SPMD: dist.all_reduce %{{.*}} sum over "ep" {{.*}} : tensor<6x8xf32>
// SPMD-NOT: dist.all_
// SPMD: return

#xw = affine_map<(t, n, k) -> (t, k)>
#w = affine_map<(t, n, k) -> (t, n, k)>
#y = affine_map<(t, n, k) -> (t, n)>
#id = affine_map<(t, n) -> (t, n)>

dist.mesh @m ["ep" = 2]
dist.schedule @s on @m {
  dist.shard "m" experts over "ep"
}
func.func @main(%x: tensor<6x8xf32>, %r: tensor<6x1xindex>, %up: tensor<4x12x8xf32> {dist.parameter = "m.up"},
                %ub: tensor<4x12xf32> {dist.parameter = "m.up_bias"},
                %down: tensor<4x8x6xf32> {dist.parameter = "m.down"},
                %db: tensor<4x8xf32> {dist.parameter = "m.down_bias"}) -> tensor<6x8xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.gather %up[%r] gather_dims([0]) {dist.scope = "m"} : (tensor<4x12x8xf32>, tensor<6x1xindex>) -> tensor<6x12x8xf32>
  %e = tensor.empty() : tensor<6x12xf32>
  %h = tensor.empty() : tensor<6x6xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<6x12xf32>) -> tensor<6x12xf32>
  %1 = linalg.contract indexing_maps = [#xw, #w, #y] {dist.scope = "m"}
         ins(%x, %0 : tensor<6x8xf32>, tensor<6x12x8xf32>) outs(%f : tensor<6x12xf32>) -> tensor<6x12xf32>
  %2 = tensor.gather %ub[%r] gather_dims([0]) {dist.scope = "m"} : (tensor<4x12xf32>, tensor<6x1xindex>) -> tensor<6x12xf32>
  %3 = arith.addf %1, %2 {dist.scope = "m"} : tensor<6x12xf32>
  %gate = tensor.extract_slice %3[0, 0] [6, 6] [1, 2] {dist.scope = "m"} : tensor<6x12xf32> to tensor<6x6xf32>
  %linear = tensor.extract_slice %3[0, 1] [6, 6] [1, 2] {dist.scope = "m"} : tensor<6x12xf32> to tensor<6x6xf32>
  %4 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
         ins(%gate : tensor<6x6xf32>) outs(%h : tensor<6x6xf32>) attrs = {dist.scope = "m"} {
  ^bb0(%in: f32, %out: f32):
    %one = arith.constant 1.0 : f32
    %a = arith.negf %in : f32
    %b = math.exp %a : f32
    %c = arith.addf %b, %one : f32
    %d = arith.divf %one, %c : f32
    linalg.yield %d : f32
  } -> tensor<6x6xf32>
  %5 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
         ins(%linear : tensor<6x6xf32>) outs(%h : tensor<6x6xf32>) attrs = {dist.scope = "m"} {
  ^bb0(%in: f32, %out: f32):
    %one = arith.constant 1.0 : f32
    %a = arith.addf %in, %one : f32
    linalg.yield %a : f32
  } -> tensor<6x6xf32>
  %6 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
         ins(%4, %5 : tensor<6x6xf32>, tensor<6x6xf32>) outs(%h : tensor<6x6xf32>) attrs = {dist.scope = "m"} {
  ^bb0(%in: f32, %in2: f32, %out: f32):
    %a = arith.mulf %in, %in2 : f32
    linalg.yield %a : f32
  } -> tensor<6x6xf32>
  %7 = tensor.gather %down[%r] gather_dims([0]) {dist.scope = "m"} : (tensor<4x8x6xf32>, tensor<6x1xindex>) -> tensor<6x8x6xf32>
  %e2 = tensor.empty() : tensor<6x8xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<6x8xf32>) -> tensor<6x8xf32>
  %8 = linalg.contract indexing_maps = [#xw, #w, #y] {dist.scope = "m"}
         ins(%6, %7 : tensor<6x6xf32>, tensor<6x8x6xf32>) outs(%f2 : tensor<6x8xf32>) -> tensor<6x8xf32>
  %9 = tensor.gather %db[%r] gather_dims([0]) {dist.scope = "m"} : (tensor<4x8xf32>, tensor<6x1xindex>) -> tensor<6x8xf32>
  %10 = arith.addf %8, %9 {dist.scope = "m"} : tensor<6x8xf32>
  return %10 : tensor<6x8xf32>
}
