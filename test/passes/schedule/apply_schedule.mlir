// What each directive becomes in the program.
// RUN: dist-opt %s --split-input-file --dist-apply-schedule=report=false | FileCheck %s

// column, row and syncs on projections with the weight as [in, out] and a bias.

#x = affine_map<(b, s, n, k) -> (b, s, k)>
#w = affine_map<(b, s, n, k) -> (k, n)>
#y = affine_map<(b, s, n, k) -> (b, s, n)>
#id = affine_map<(b, s, n) -> (b, s, n)>
#bias = affine_map<(b, s, n) -> (n)>

// CHECK: dist.mesh @m ["dp" = 2, "tp" = 4]
// CHECK-NOT: dist.schedule
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x16x32xf32> {dist.cause = "{{.*}}dist.shard input {{.*}}", dist.input = "x", dist.sharding = #dist.sharding<@m, [{"dp"}, {?}, {?}]>}
// CHECK-SAME: %[[W1:[a-z0-9]+]]: tensor<32x64xf32> {dist.cause = "{{.*}}", dist.parameter = "h.0.fc.weight", dist.sharding = #dist.sharding<@m, [{"dp"}, {"tp"}]>}
// CHECK-SAME: %[[W2:[a-z0-9]+]]: tensor<64x32xf32> {dist.cause = "{{.*}}", dist.parameter = "h.0.proj.weight", dist.sharding = #dist.sharding<@m, [{"tp"}, {?}]>}
// CHECK-SAME: %[[B2:[a-z0-9]+]]: tensor<32xf32> {dist.parameter = "h.0.proj.bias"})
// CHECK-SAME: -> (tensor<2x16x32xf32> {dist.cause = "{{.*}}", dist.output = "y", dist.sharding = #dist.sharding<@m, [{"dp"}, {}, {}]>}
// The input of both modules is gathered once, for these two only.
// CHECK: %[[GATHERED:.*]] = dist.sync %[[X]] fwd_pre all_gather dim 1 over "tp"
// CHECK-SAME: cause "{{.*}}:[[#]]: dist.sync \"h.*.{fc,gate}\" fwd_pre all_gather dim 1 over \"tp\""
// CHECK-NOT: dist.sync
// CHECK: %[[H:.*]] = linalg.contract {{.*}} ins(%[[GATHERED]], %[[W1]]
// CHECK: %[[CH:.*]] = dist.sharding_constraint %[[H]] <@m, [{?}, {?}, {"tp"}]>
// CHECK-SAME: cause "{{.*}}: dist.shard \"h.*.fc\" column over \"tp\"" {dist.scope = "h.0.fc"}
// CHECK: linalg.generic {{.*}} ins(%[[GATHERED]] : {{.*}} attrs = {dist.scope = "h.0.gate"}
// CHECK: %[[CR:.*]] = dist.sharding_constraint %[[CH]] <@m, [{?}, {?}, {"tp"}]>
// CHECK-SAME: cause "{{.*}}: dist.shard \"h.*.proj\" row over \"tp\""
// CHECK: %[[P:.*]] = linalg.contract {{.*}} ins(%[[CR]], %[[W2]]
// The sum is reduced before the bias is added.
// CHECK: %[[S:.*]] = dist.sync %[[P]] fwd_post reduce_scatter dim 1 over "tp"
// CHECK-SAME: {dist.scope = "h.0.proj"}
// CHECK: linalg.generic {{.*}} ins(%[[S]], %[[B2]] :
// CHECK: linalg.add ins(%[[X]],
dist.mesh @m ["dp" = 2, "tp" = 4]
dist.schedule @s on @m {
  dist.shard "h.*.fc" column over "tp"
  dist.shard "h.*.proj" row over "tp"
  dist.sync "h.*.proj" fwd_post reduce_scatter dim 1 over "tp"
  dist.sync "h.*.{fc,gate}" fwd_pre all_gather dim 1 over "tp"
  dist.shard input "x" [{"dp"}, {?}, {?}]
  dist.shard output "y" [{"dp"}, {}, {}]
  dist.shard "nothing" column over "tp" optional
  dist.shard parameter "h.0.fc.weight" [{"dp"}, {?}]
}
func.func @main(
    %x: tensor<2x16x32xf32> {dist.input = "x"},
    %w1: tensor<32x64xf32> {dist.parameter = "h.0.fc.weight"},
    %w2: tensor<64x32xf32> {dist.parameter = "h.0.proj.weight"},
    %b2: tensor<32xf32> {dist.parameter = "h.0.proj.bias"})
    -> (tensor<2x16x32xf32> {dist.output = "y"}, tensor<2x16x32xf32>) {
  %zero = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<2x16x64xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<2x16x64xf32>) -> tensor<2x16x64xf32>
  %1 = linalg.contract indexing_maps = [#x, #w, #y] {dist.scope = "h.0.fc"}
         ins(%x, %w1 : tensor<2x16x32xf32>, tensor<32x64xf32>)
         outs(%f1 : tensor<2x16x64xf32>) -> tensor<2x16x64xf32>
  %e2 = tensor.empty() {dist.scope = "h.0.proj"} : tensor<2x16x32xf32>
  %gate = linalg.generic {indexing_maps = [#id, #id],
         iterator_types = ["parallel", "parallel", "parallel"]}
         ins(%x : tensor<2x16x32xf32>) outs(%e2 : tensor<2x16x32xf32>)
         attrs = {dist.scope = "h.0.gate"} {
  ^bb0(%a: f32, %o: f32):
    %t = math.tanh %a : f32
    linalg.yield %t : f32
  } -> tensor<2x16x32xf32>
  %f2 = linalg.fill {dist.scope = "h.0.proj"} ins(%zero : f32) outs(%e2 : tensor<2x16x32xf32>) -> tensor<2x16x32xf32>
  %2 = linalg.contract indexing_maps = [#x, #w, #y] {dist.scope = "h.0.proj"}
         ins(%1, %w2 : tensor<2x16x64xf32>, tensor<64x32xf32>)
         outs(%f2 : tensor<2x16x32xf32>) -> tensor<2x16x32xf32>
  %3 = linalg.generic {indexing_maps = [#id, #bias, #id],
         iterator_types = ["parallel", "parallel", "parallel"]}
         ins(%2, %b2 : tensor<2x16x32xf32>, tensor<32xf32>)
         outs(%e2 : tensor<2x16x32xf32>) attrs = {dist.scope = "h.0.proj"} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<2x16x32xf32>
  %4 = linalg.add ins(%x, %gate : tensor<2x16x32xf32>, tensor<2x16x32xf32>)
         outs(%e2 : tensor<2x16x32xf32>) -> tensor<2x16x32xf32>
  return %3, %4 : tensor<2x16x32xf32>, tensor<2x16x32xf32>
}

// -----

// Fused q|k|v: three groups; the weight is stored [out, in] and transposed.

// CHECK-LABEL: func.func @fused
// CHECK-SAME: tensor<96x32xf32> {dist.cause = "{{.*}}", dist.parameter = "attn.weight", dist.sharding = #dist.sharding<@m, [{"tp"} groups 3, {?}]>}
// CHECK: linalg.matmul
// CHECK-NEXT: dist.sharding_constraint {{.*}} <@m, [{?}, {"tp"} groups 3]>
dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  dist.shard "attn" column over "tp" groups 3
}
func.func @fused(%x: tensor<8x32xf32>,
    %w: tensor<96x32xf32> {dist.parameter = "attn.weight"}) -> tensor<8x96xf32> {
  %e = tensor.empty() : tensor<32x96xf32>
  %wt = linalg.transpose ins(%w : tensor<96x32xf32>) outs(%e : tensor<32x96xf32>) permutation = [1, 0]
  %init = tensor.empty() : tensor<8x96xf32>
  %0 = linalg.matmul {dist.scope = "attn"} ins(%x, %wt : tensor<8x32xf32>, tensor<32x96xf32>)
         outs(%init : tensor<8x96xf32>) -> tensor<8x96xf32>
  return %0 : tensor<8x96xf32>
}

// -----

// The weight is reshaped on the way: [in, 3 * heads * size] to [in, 3, heads,
// size]. With groups the first factor counts blocks, and the heads are sharded.

#x = affine_map<(b, t, h, d, k) -> (b, k)>
#w = affine_map<(b, t, h, d, k) -> (k, t, h, d)>
#y = affine_map<(b, t, h, d, k) -> (b, t, h, d)>
// CHECK-LABEL: func.func @reshaped
// CHECK-SAME: tensor<32x96xf32> {dist.cause = "{{.*}}", dist.parameter = "attn.weight", dist.sharding = #dist.sharding<@m, [{?}, {"tp"} groups 3]>}
// CHECK: linalg.contract
// CHECK-NEXT: dist.sharding_constraint {{.*}} <@m, [{?}, {?}, {"tp"}, {?}]>
dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  dist.shard "attn" column over "tp" groups 3
}
func.func @reshaped(%x: tensor<8x32xf32>,
    %w: tensor<32x96xf32> {dist.parameter = "attn.weight"}) -> tensor<8x3x4x8xf32> {
  %wr = tensor.expand_shape %w [[0], [1, 2, 3]] output_shape [32, 3, 4, 8]
      : tensor<32x96xf32> into tensor<32x3x4x8xf32>
  %init = tensor.empty() : tensor<8x3x4x8xf32>
  %0 = linalg.contract indexing_maps = [#x, #w, #y] {dist.scope = "attn"}
         ins(%x, %wr : tensor<8x32xf32>, tensor<32x3x4x8xf32>)
         outs(%init : tensor<8x3x4x8xf32>) -> tensor<8x3x4x8xf32>
  return %0 : tensor<8x3x4x8xf32>
}

// -----

// A projection on flattened rows: the sum is reshaped, so that the dimension of
// the module's output that the sync names is one of its own, and reshaped back.

#id = affine_map<(r, n) -> (r, n)>
#bias = affine_map<(r, n) -> (n)>
// CHECK-LABEL: func.func @flattened
// CHECK: %[[P:.*]] = linalg.matmul
// CHECK-NEXT: %[[E:.*]] = tensor.expand_shape %[[P]] {{\[\[}}0, 1], [2]] output_shape [2, 16, 64]
// CHECK-NEXT: %[[S:.*]] = dist.sync %[[E]] fwd_post reduce_scatter dim 1 over "tp"
// CHECK-NEXT: %[[C:.*]] = tensor.collapse_shape %[[S]] {{\[\[}}0, 1], [2]]
// CHECK: linalg.generic {{.*}} ins(%[[C]], %{{.*}} : tensor<32x64xf32>, tensor<64xf32>)
dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  dist.sync "fc" fwd_post reduce_scatter dim 1 over "tp"
}
func.func @flattened(%x: tensor<32x32xf32>,
    %w: tensor<32x64xf32> {dist.parameter = "fc.weight"},
    %b: tensor<64xf32> {dist.parameter = "fc.bias"}) -> tensor<2x16x64xf32> {
  %init = tensor.empty() : tensor<32x64xf32>
  %0 = linalg.matmul {dist.scope = "fc"} ins(%x, %w : tensor<32x32xf32>, tensor<32x64xf32>)
         outs(%init : tensor<32x64xf32>) -> tensor<32x64xf32>
  %1 = linalg.generic {indexing_maps = [#id, #bias, #id], iterator_types = ["parallel", "parallel"]}
         ins(%0, %b : tensor<32x64xf32>, tensor<64xf32>)
         outs(%init : tensor<32x64xf32>) attrs = {dist.scope = "fc"} {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %s = arith.addf %a, %c : f32
    linalg.yield %s : f32
  } -> tensor<32x64xf32>
  %2 = tensor.expand_shape %1 [[0, 1], [2]] output_shape [2, 16, 64] {dist.scope = "fc"}
      : tensor<32x64xf32> into tensor<2x16x64xf32>
  return %2 : tensor<2x16x64xf32>
}

// -----

// A path covers the modules within it. all_reduce of the whole block goes to
// the pending sum of the last projection. A sync that moves data acts on what
// leaves the module; what the module itself reads stays as it is.

// CHECK-LABEL: func.func @block
// CHECK: %[[A:.*]] = linalg.exp {dist.scope = "block.act"}
// CHECK: %[[G:.*]] = dist.sync %[[A]] fwd_post scatter dim 0 over "tp"
// CHECK: %[[B:.*]] = linalg.exp {dist.scope = "block.act"} ins(%[[A]] :
// CHECK: %[[H:.*]] = dist.sync %[[B]] fwd_post scatter dim 0 over "tp"
// CHECK: %[[P:.*]] = linalg.matmul {{.*}} ins(%[[H]],
// CHECK: %[[S:.*]] = dist.sync %[[P]] fwd_post all_reduce over "tp"
// CHECK: return %[[S]], %[[G]]
dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  dist.sync "block" fwd_post all_reduce over "tp"
  dist.sync "block.act" fwd_post scatter dim 0 over "tp"
}
func.func @block(%x: tensor<32x32xf32>,
    %w: tensor<32x64xf32> {dist.parameter = "block.fc.weight"})
    -> (tensor<32x64xf32>, tensor<32x32xf32>) {
  %e = tensor.empty() : tensor<32x32xf32>
  %a = linalg.exp {dist.scope = "block.act"} ins(%x : tensor<32x32xf32>) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
  %b = linalg.exp {dist.scope = "block.act"} ins(%a : tensor<32x32xf32>) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
  %init = tensor.empty() : tensor<32x64xf32>
  %0 = linalg.matmul {dist.scope = "block.fc"} ins(%b, %w : tensor<32x32xf32>, tensor<32x64xf32>)
         outs(%init : tensor<32x64xf32>) -> tensor<32x64xf32>
  return %0, %a : tensor<32x64xf32>, tensor<32x32xf32>
}
