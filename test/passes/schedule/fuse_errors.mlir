// Layers that cannot be one contraction are an error at the directive.
// RUN: dist-opt %s --split-input-file --verify-diagnostics --dist-apply-schedule=report=false --dist-spmd

#x = affine_map<(b, n, k) -> (b, k)>
#w = affine_map<(b, n, k) -> (n, k)>
#y = affine_map<(b, n, k) -> (b, n)>
dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  // expected-error@below {{nothing to fuse module "a.q" with: no other layer of "a" that is named reads the same tensor}}
  dist.fuse "a.{q,k}"
}
func.func @main(%x: tensor<3x6xf32>, %z: tensor<3x6xf32>, %wq: tensor<8x6xf32> {dist.parameter = "q"},
    %wk: tensor<8x6xf32> {dist.parameter = "k"}) -> (tensor<3x8xf32>, tensor<3x8xf32>) {
  %e = arith.constant dense<0.0> : tensor<3x8xf32>
  // expected-note@below {{the layer}}
  %q = linalg.contract indexing_maps = [#x, #w, #y] {dist.scope = "a.q"} ins(%x, %wq : tensor<3x6xf32>, tensor<8x6xf32>) outs(%e : tensor<3x8xf32>) -> tensor<3x8xf32>
  // expected-note@below {{module "a.k" reads another one}}
  %k = linalg.contract indexing_maps = [#x, #w, #y] {dist.scope = "a.k"} ins(%z, %wk : tensor<3x6xf32>, tensor<8x6xf32>) outs(%e : tensor<3x8xf32>) -> tensor<3x8xf32>
  return %q, %k : tensor<3x8xf32>, tensor<3x8xf32>
}

// -----

dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  // expected-error@below {{module "a" has no linear layer: no contraction with a parameter}}
  dist.fuse "a"
}
func.func @main(%x: tensor<3x6xf32>) -> tensor<3x6xf32> {
  %0 = math.exp %x {dist.scope = "a"} : tensor<3x6xf32>
  return %0 : tensor<3x6xf32>
}

// -----

#x = affine_map<(b, n, k) -> (b, k)>
#w = affine_map<(b, n, k) -> (n, k)>
#y = affine_map<(b, n, k) -> (b, n)>
dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  // expected-note@below {{by this}}
  dist.fuse "a.{q,k}"
  // expected-error@below {{module "a.q" is fused with others already}}
  dist.fuse "a.*"
}
func.func @main(%x: tensor<3x6xf32>, %wq: tensor<8x6xf32> {dist.parameter = "q"},
    %wk: tensor<8x6xf32> {dist.parameter = "k"}) -> (tensor<3x8xf32>, tensor<3x8xf32>) {
  %e = arith.constant dense<0.0> : tensor<3x8xf32>
  %q = linalg.contract indexing_maps = [#x, #w, #y] {dist.scope = "a.q"} ins(%x, %wq : tensor<3x6xf32>, tensor<8x6xf32>) outs(%e : tensor<3x8xf32>) -> tensor<3x8xf32>
  %k = linalg.contract indexing_maps = [#x, #w, #y] {dist.scope = "a.k"} ins(%x, %wk : tensor<3x6xf32>, tensor<8x6xf32>) outs(%e : tensor<3x8xf32>) -> tensor<3x8xf32>
  return %q, %k : tensor<3x8xf32>, tensor<3x8xf32>
}

// -----

// Fully sharded weights are gathered in each step.
#x = affine_map<(b, n, k) -> (b, k)>
#w = affine_map<(b, n, k) -> (n, k)>
#y = affine_map<(b, n, k) -> (b, n)>
dist.mesh @m ["dp" = 2]
dist.schedule @s on @m {
  dist.shard input "x" [{"dp"}, {}]
  dist.shard parameter "*" [{"dp"}, {}]
  // expected-note@* {{what the layer reads is made by dist.all_gather}}
  // expected-error@below {{cannot be fused: a weight is no parameter as it was loaded}}
  dist.fuse "a.*"
}
func.func @main(%x: tensor<4x6xf32> {dist.input = "x"}, %wq: tensor<8x6xf32> {dist.parameter = "q"},
    %wk: tensor<8x6xf32> {dist.parameter = "k"}) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %e = arith.constant dense<0.0> : tensor<4x8xf32>
  // expected-note@below {{the layer}}
  %q = linalg.contract indexing_maps = [#x, #w, #y] {dist.scope = "a.q"} ins(%x, %wq : tensor<4x6xf32>, tensor<8x6xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %k = linalg.contract indexing_maps = [#x, #w, #y] {dist.scope = "a.k"} ins(%x, %wk : tensor<4x6xf32>, tensor<8x6xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %q, %k : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// Placed apart, the layers read different parts of their input.
#x = affine_map<(b, n, k) -> (b, k)>
#w = affine_map<(b, n, k) -> (n, k)>
#y = affine_map<(b, n, k) -> (b, n)>
dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  dist.shard "a.q" input [{}, {}]
  dist.shard "a.k" input [{"tp"}, {}]
  // expected-error@below {{cannot be fused: placed as they are, the layers do not read the same tensor; what places one of them must place the others alike}}
  dist.fuse "a.*"
}
func.func @main(%x: tensor<4x6xf32> {dist.input = "x"}, %wq: tensor<8x6xf32> {dist.parameter = "q"},
    %wk: tensor<8x6xf32> {dist.parameter = "k"}) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %zero = arith.constant 0.0 : f32
  %t = tensor.empty() : tensor<4x8xf32>
  %e = linalg.fill ins(%zero : f32) outs(%t : tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-note@below {{one layer}}
  %q = linalg.contract indexing_maps = [#x, #w, #y] {dist.scope = "a.q"} ins(%x, %wq : tensor<4x6xf32>, tensor<8x6xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-note@below {{another}}
  %k = linalg.contract indexing_maps = [#x, #w, #y] {dist.scope = "a.k"} ins(%x, %wk : tensor<4x6xf32>, tensor<8x6xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %q, %k : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// One sum begins with 0, the other with 1.
#x = affine_map<(b, n, k) -> (b, k)>
#w = affine_map<(b, n, k) -> (n, k)>
#y = affine_map<(b, n, k) -> (b, n)>
dist.mesh @m ["tp" = 1]
dist.schedule @s on @m {
  // expected-error@below {{cannot be fused: a layer's sum begins with something else than a number, its bias perhaps; dist.decompose adds that afterwards}}
  dist.fuse "a.*"
}
func.func @main(%x: tensor<4x6xf32>, %wq: tensor<8x6xf32> {dist.parameter = "q"},
    %wk: tensor<8x6xf32> {dist.parameter = "k"}) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %t = tensor.empty() : tensor<4x8xf32>
  %e = linalg.fill ins(%zero : f32) outs(%t : tensor<4x8xf32>) -> tensor<4x8xf32>
  %f = linalg.fill ins(%one : f32) outs(%t : tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-note@below {{one layer}}
  %q = linalg.contract indexing_maps = [#x, #w, #y] {dist.scope = "a.q"} ins(%x, %wq : tensor<4x6xf32>, tensor<8x6xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-note@below {{another}}
  %k = linalg.contract indexing_maps = [#x, #w, #y] {dist.scope = "a.k"} ins(%x, %wk : tensor<4x6xf32>, tensor<8x6xf32>) outs(%f : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %q, %k : tensor<4x8xf32>, tensor<4x8xf32>
}
