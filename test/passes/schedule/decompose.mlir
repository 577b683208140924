// A linear layer becomes a matmul and a bias, which directives can name.
// RUN: dist-opt %s --split-input-file --verify-diagnostics --dist-apply-schedule=report=false | FileCheck %s

// The weight's own ops go with the matmul. What stands behind the layer in the same module stays in it, and a second
// directive that means the same layer finds it done.
// CHECK-LABEL: func.func @main
// CHECK: linalg.transpose {{.*}}dist.scope = "fc.matmul"
// CHECK: %[[P:.*]] = linalg.matmul {dist.scope = "fc.matmul"}
// CHECK: %[[S:.*]] = dist.sync %[[P]] fwd_post all_reduce over "tp" {{.*}} {dist.scope = "fc.matmul"}
// CHECK: linalg.generic {{.*}} ins(%[[S]], {{.*}} attrs = {dist.scope = "fc.bias"}
// CHECK: math.tanh {{.*}} {dist.scope = "fc"}
dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  dist.shard "fc" row over "tp"
  dist.sync "fc.matmul" fwd_post all_reduce over "tp"
  dist.decompose "fc" expect 1
  dist.decompose "f*" expect 1
}
func.func @main(%x: tensor<8x32xf32>, %w: tensor<16x32xf32> {dist.parameter = "fc.weight"},
    %b: tensor<16xf32> {dist.parameter = "fc.bias"}) -> tensor<8x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %et = tensor.empty() : tensor<32x16xf32>
  %t = linalg.transpose ins(%w : tensor<16x32xf32>) outs(%et : tensor<32x16xf32>) permutation = [1, 0] {dist.scope = "fc"}
  %0 = linalg.matmul {dist.scope = "fc"} ins(%x, %t : tensor<8x32xf32>, tensor<32x16xf32>)
         outs(%f : tensor<8x16xf32>) -> tensor<8x16xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>,
                                        affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
         ins(%0, %b : tensor<8x16xf32>, tensor<16xf32>) outs(%e : tensor<8x16xf32>)
         attrs = {dist.scope = "fc"} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<8x16xf32>
  %2 = math.tanh %1 {dist.scope = "fc"} : tensor<8x16xf32>
  return %2 : tensor<8x16xf32>
}

// -----

// A bias that the sum begins with is added after it.
// CHECK-LABEL: func.func @fused
// CHECK: %[[B:.*]] = linalg.broadcast {{.*}} {dist.scope = "fc.bias"}
// CHECK: %[[F:.*]] = linalg.fill {dist.scope = "fc"}
// CHECK: %[[P:.*]] = linalg.matmul {dist.scope = "fc.matmul"} {{.*}} outs(%[[F]] :
// CHECK: %[[Y:.*]] = linalg.add {dist.scope = "fc.bias"} ins(%[[P]], %[[B]] :
// CHECK: return %[[Y]]
dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  dist.decompose "fc"
}
func.func @fused(%x: tensor<8x32xf32>, %w: tensor<32x16xf32> {dist.parameter = "fc.weight"},
    %b: tensor<16xf32> {dist.parameter = "fc.bias"}) -> tensor<8x16xf32> {
  %e = tensor.empty() : tensor<8x16xf32>
  %i = linalg.broadcast ins(%b : tensor<16xf32>) outs(%e : tensor<8x16xf32>) dimensions = [0] {dist.scope = "fc"}
  %0 = linalg.matmul {dist.scope = "fc"} ins(%x, %w : tensor<8x32xf32>, tensor<32x16xf32>)
         outs(%i : tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// -----

dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  // expected-error@below {{module "a" has no linear layer: no contraction with a parameter}}
  dist.decompose "a"
}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = math.exp %x {dist.scope = "a"} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  // expected-error@below {{module "a" has contractions with several parameters that are in no module of their own, so that their parts would have one name}}
  dist.decompose "a"
}
func.func @main(%x: tensor<8x8xf32>, %v: tensor<8x8xf32> {dist.parameter = "v"},
                %w: tensor<8x8xf32> {dist.parameter = "w"}) -> tensor<8x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  // expected-note@below {{one of them}}
  %0 = linalg.matmul {dist.scope = "a"} ins(%x, %v : tensor<8x8xf32>, tensor<8x8xf32>)
         outs(%f : tensor<8x8xf32>) -> tensor<8x8xf32>
  // expected-note@below {{another}}
  %1 = linalg.matmul {dist.scope = "a"} ins(%0, %w : tensor<8x8xf32>, tensor<8x8xf32>)
         outs(%f : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

// -----

// A layer that is applied twice is one, also where it is found taken apart. In the model's own ops, parts have no path before them.
// CHECK-LABEL: func.func @twice
// CHECK: linalg.matmul {dist.scope = "cell.matmul"}
// CHECK: linalg.add {dist.scope = "cell.bias"}
// CHECK: linalg.matmul {dist.scope = "cell.matmul"}
// CHECK: linalg.add {dist.scope = "cell.bias"}
// CHECK: linalg.matmul {dist.scope = "matmul"}
dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  dist.decompose "cell" expect 1
  dist.decompose "" expect 2
}
func.func @twice(%x: tensor<8x8xf32>, %w: tensor<8x8xf32> {dist.parameter = "cell.weight"}, %b: tensor<8x8xf32> {dist.parameter = "cell.bias"},
                 %v: tensor<8x8xf32> {dist.parameter = "v"}) -> tensor<8x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %0 = linalg.matmul {dist.scope = "cell"} ins(%x, %w : tensor<8x8xf32>, tensor<8x8xf32>) outs(%f : tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = linalg.add {dist.scope = "cell"} ins(%0, %b : tensor<8x8xf32>, tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = linalg.matmul {dist.scope = "cell"} ins(%1, %w : tensor<8x8xf32>, tensor<8x8xf32>) outs(%f : tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = linalg.add {dist.scope = "cell"} ins(%2, %b : tensor<8x8xf32>, tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %4 = linalg.matmul {dist.scope = ""} ins(%3, %v : tensor<8x8xf32>, tensor<8x8xf32>) outs(%f : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %4 : tensor<8x8xf32>
}
