// RUN: dist-opt %s --split-input-file --verify-diagnostics --dist-apply-schedule=report=false

#x = affine_map<(b, n, k) -> (b, k)>
#w = affine_map<(b, n, k) -> (n, k)>
#y = affine_map<(b, n, k) -> (b, n)>
dist.mesh @m ["ep" = 2]
dist.schedule @s on @m {
  // expected-error@+1 {{module "experts" has no experts: no parameter in it is looked up by tokens, or applied, with one part for each expert; "experts.0" looks like one of several with weights of their own}}
  dist.shard "experts" experts over "ep"
}
func.func @main(%x: tensor<4x8xf32>, %a: tensor<8x8xf32> {dist.parameter = "experts.0.weight"},
                %b: tensor<8x8xf32> {dist.parameter = "experts.1.weight"}) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %e = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.contract indexing_maps = [#x, #w, #y] {dist.scope = "experts.0"}
         ins(%x, %a : tensor<4x8xf32>, tensor<8x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = linalg.contract indexing_maps = [#x, #w, #y] {dist.scope = "experts.1"}
         ins(%x, %b : tensor<4x8xf32>, tensor<8x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0, %1 : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

dist.mesh @m ["ep" = 2]
dist.schedule @s on @m {
  // expected-error@+1 {{module "m" has weights of 4 experts, and of 6; name a module that has one kind only}}
  dist.shard "m" experts over "ep"
}
func.func @main(%r: tensor<3x1xindex>, %a: tensor<4x8xf32> {dist.parameter = "m.a"},
                %b: tensor<6x8xf32> {dist.parameter = "m.b"}) -> (tensor<3x8xf32>, tensor<3x8xf32>) {
  // expected-note@+1 {{4 here}}
  %0 = tensor.gather %a[%r] gather_dims([0]) {dist.scope = "m"} : (tensor<4x8xf32>, tensor<3x1xindex>) -> tensor<3x8xf32>
  // expected-note@+1 {{6 here}}
  %1 = tensor.gather %b[%r] gather_dims([0]) {dist.scope = "m"} : (tensor<6x8xf32>, tensor<3x1xindex>) -> tensor<3x8xf32>
  return %0, %1 : tensor<3x8xf32>, tensor<3x8xf32>
}
