// `heads` finds the projections of an attention by dataflow, however they are fused.
// RUN: dist-opt %s --split-input-file --dist-apply-schedule=report=false | FileCheck %s

// Queries, keys and values from three weights; 4 heads on 4 ranks, of keys and values 2: each is with the two ranks
// that share it, and sharded over these in no other dimension. The output projection is split by its input features.

// CHECK-LABEL: func.func @separate
// CHECK-SAME: dist.parameter = "a.q", dist.sharding = #dist.sharding<@m, [{?}, {"tp"}]>
// CHECK-SAME: dist.parameter = "a.k", dist.sharding = #dist.sharding<@m, [{?}, {"tp"(1)2}]>
// CHECK-SAME: dist.parameter = "a.v", dist.sharding = #dist.sharding<@m, [{?}, {"tp"(1)2}]>
// CHECK-SAME: dist.parameter = "a.o", dist.sharding = #dist.sharding<@m, [{"tp"}, {?}]>
// CHECK: dist.sharding_constraint %{{.*}} <@m, [{?}, {"tp"}]> cause
// CHECK-COUNT-2: dist.sharding_constraint %{{.*}} <@m, [{?}, {"tp"(1)2}]> whole "tp"(2)2 cause
dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  dist.shard "a" heads over "tp" expect 1
}
func.func @separate(%x: tensor<5x8xf32>, %wq: tensor<8x12xf32> {dist.parameter = "a.q"}, %wk: tensor<8x6xf32> {dist.parameter = "a.k"},
                %wv: tensor<8x6xf32> {dist.parameter = "a.v"}, %wo: tensor<12x8xf32> {dist.parameter = "a.o"}) -> tensor<5x8xf32> {
  %eq = tensor.empty() : tensor<5x12xf32>
  %ek = tensor.empty() : tensor<5x6xf32>
  %q = linalg.matmul {dist.scope = "a"} ins(%x, %wq : tensor<5x8xf32>, tensor<8x12xf32>) outs(%eq : tensor<5x12xf32>) -> tensor<5x12xf32>
  %k = linalg.matmul {dist.scope = "a"} ins(%x, %wk : tensor<5x8xf32>, tensor<8x6xf32>) outs(%ek : tensor<5x6xf32>) -> tensor<5x6xf32>
  %v = linalg.matmul {dist.scope = "a"} ins(%x, %wv : tensor<5x8xf32>, tensor<8x6xf32>) outs(%ek : tensor<5x6xf32>) -> tensor<5x6xf32>
  %qs = tensor.expand_shape %q [[0], [1, 2]] output_shape [5, 4, 3] {dist.scope = "a"} : tensor<5x12xf32> into tensor<5x4x3xf32>
  %ks = tensor.expand_shape %k [[0], [1, 2]] output_shape [5, 2, 3] {dist.scope = "a"} : tensor<5x6xf32> into tensor<5x2x3xf32>
  %vs = tensor.expand_shape %v [[0], [1, 2]] output_shape [5, 2, 3] {dist.scope = "a"} : tensor<5x6xf32> into tensor<5x2x3xf32>
  %er = tensor.empty() : tensor<5x2x2x3xf32>
  %kr = linalg.broadcast ins(%ks : tensor<5x2x3xf32>) outs(%er : tensor<5x2x2x3xf32>) dimensions = [2] {dist.scope = "a"}
  %vr = linalg.broadcast ins(%vs : tensor<5x2x3xf32>) outs(%er : tensor<5x2x2x3xf32>) dimensions = [2] {dist.scope = "a"}
  %kh = tensor.collapse_shape %kr [[0], [1, 2], [3]] {dist.scope = "a"} : tensor<5x2x2x3xf32> into tensor<5x4x3xf32>
  %vh = tensor.collapse_shape %vr [[0], [1, 2], [3]] {dist.scope = "a"} : tensor<5x2x2x3xf32> into tensor<5x4x3xf32>
  %es = tensor.empty() : tensor<4x5x5xf32>
  %s = linalg.contract indexing_maps = [affine_map<(h, i, j, d) -> (i, h, d)>, affine_map<(h, i, j, d) -> (j, h, d)>, affine_map<(h, i, j, d) -> (h, i, j)>]
      {dist.scope = "a"} ins(%qs, %kh : tensor<5x4x3xf32>, tensor<5x4x3xf32>) outs(%es : tensor<4x5x5xf32>) -> tensor<4x5x5xf32>
  %ec = tensor.empty() : tensor<5x4x3xf32>
  %c = linalg.contract indexing_maps = [affine_map<(h, i, j, d) -> (h, i, j)>, affine_map<(h, i, j, d) -> (j, h, d)>, affine_map<(h, i, j, d) -> (i, h, d)>]
      {dist.scope = "a"} ins(%s, %vh : tensor<4x5x5xf32>, tensor<5x4x3xf32>) outs(%ec : tensor<5x4x3xf32>) -> tensor<5x4x3xf32>
  %cf = tensor.collapse_shape %c [[0], [1, 2]] {dist.scope = "a"} : tensor<5x4x3xf32> into tensor<5x12xf32>
  %eo = tensor.empty() : tensor<5x8xf32>
  %o = linalg.matmul {dist.scope = "a"} ins(%cf, %wo : tensor<5x12xf32>, tensor<12x8xf32>) outs(%eo : tensor<5x8xf32>) -> tensor<5x8xf32>
  return %o : tensor<5x8xf32>
}

// -----

// One weight for all three, which the program takes apart after the heads are a dimension, transposed: [3, heads, width].

// CHECK-LABEL: func.func @fused
// CHECK-SAME: dist.parameter = "a.qkv", dist.sharding = #dist.sharding<@m, [{?}, {"tp"} groups 3]>
// CHECK: linalg.matmul
// CHECK-NEXT: dist.sharding_constraint %{{.*}} <@m, [{?}, {"tp"} groups 3]>
dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  dist.shard "a" heads over "tp"
}
func.func @fused(%x: tensor<5x8xf32>, %w: tensor<8x24xf32> {dist.parameter = "a.qkv"}) -> tensor<4x5x2xf32> {
  %e = tensor.empty() : tensor<5x24xf32>
  %y = linalg.matmul {dist.scope = "a"} ins(%x, %w : tensor<5x8xf32>, tensor<8x24xf32>) outs(%e : tensor<5x24xf32>) -> tensor<5x24xf32>
  %h = tensor.expand_shape %y [[0], [1, 2, 3]] output_shape [5, 3, 4, 2] {dist.scope = "a"} : tensor<5x24xf32> into tensor<5x3x4x2xf32>
  %et = tensor.empty() : tensor<3x4x5x2xf32>
  %t = linalg.transpose ins(%h : tensor<5x3x4x2xf32>) outs(%et : tensor<3x4x5x2xf32>) permutation = [1, 2, 0, 3] {dist.scope = "a"}
  %q = tensor.extract_slice %t[0, 0, 0, 0] [1, 4, 5, 2] [1, 1, 1, 1] {dist.scope = "a"} : tensor<3x4x5x2xf32> to tensor<4x5x2xf32>
  %k = tensor.extract_slice %t[1, 0, 0, 0] [1, 4, 5, 2] [1, 1, 1, 1] {dist.scope = "a"} : tensor<3x4x5x2xf32> to tensor<4x5x2xf32>
  %v = tensor.extract_slice %t[2, 0, 0, 0] [1, 4, 5, 2] [1, 1, 1, 1] {dist.scope = "a"} : tensor<3x4x5x2xf32> to tensor<4x5x2xf32>
  %es = tensor.empty() : tensor<4x5x5xf32>
  %s = linalg.contract indexing_maps = [affine_map<(h, i, j, d) -> (h, i, d)>, affine_map<(h, i, j, d) -> (h, j, d)>, affine_map<(h, i, j, d) -> (h, i, j)>]
      {dist.scope = "a"} ins(%q, %k : tensor<4x5x2xf32>, tensor<4x5x2xf32>) outs(%es : tensor<4x5x5xf32>) -> tensor<4x5x5xf32>
  %ec = tensor.empty() : tensor<4x5x2xf32>
  %c = linalg.batch_matmul {dist.scope = "a"} ins(%s, %v : tensor<4x5x5xf32>, tensor<4x5x2xf32>) outs(%ec : tensor<4x5x2xf32>) -> tensor<4x5x2xf32>
  return %c : tensor<4x5x2xf32>
}

// -----

// The same with slices that keep the block's dimension, which is dropped after them.

// CHECK-LABEL: func.func @kept
// CHECK-SAME: dist.parameter = "a.qkv", dist.sharding = #dist.sharding<@m, [{?}, {"tp"} groups 3]>
// CHECK: linalg.matmul
// CHECK-NEXT: dist.sharding_constraint %{{.*}} <@m, [{?}, {"tp"} groups 3]>
dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  dist.shard "a" heads over "tp"
}
func.func @kept(%x: tensor<5x8xf32>, %w: tensor<8x24xf32> {dist.parameter = "a.qkv"}) -> tensor<4x5x2xf32> {
  %e = tensor.empty() : tensor<5x24xf32>
  %y = linalg.matmul {dist.scope = "a"} ins(%x, %w : tensor<5x8xf32>, tensor<8x24xf32>) outs(%e : tensor<5x24xf32>) -> tensor<5x24xf32>
  %h = tensor.expand_shape %y [[0], [1, 2, 3]] output_shape [5, 3, 4, 2] {dist.scope = "a"} : tensor<5x24xf32> into tensor<5x3x4x2xf32>
  %et = tensor.empty() : tensor<3x4x5x2xf32>
  %t = linalg.transpose ins(%h : tensor<5x3x4x2xf32>) outs(%et : tensor<3x4x5x2xf32>) permutation = [1, 2, 0, 3] {dist.scope = "a"}
  %q1 = tensor.extract_slice %t[0, 0, 0, 0] [1, 4, 5, 2] [1, 1, 1, 1] {dist.scope = "a"} : tensor<3x4x5x2xf32> to tensor<1x4x5x2xf32>
  %q = tensor.collapse_shape %q1 [[0, 1], [2], [3]] {dist.scope = "a"} : tensor<1x4x5x2xf32> into tensor<4x5x2xf32>
  %k1 = tensor.extract_slice %t[1, 0, 0, 0] [1, 4, 5, 2] [1, 1, 1, 1] {dist.scope = "a"} : tensor<3x4x5x2xf32> to tensor<1x4x5x2xf32>
  %k = tensor.collapse_shape %k1 [[0, 1], [2], [3]] {dist.scope = "a"} : tensor<1x4x5x2xf32> into tensor<4x5x2xf32>
  %v1 = tensor.extract_slice %t[2, 0, 0, 0] [1, 4, 5, 2] [1, 1, 1, 1] {dist.scope = "a"} : tensor<3x4x5x2xf32> to tensor<1x4x5x2xf32>
  %v = tensor.collapse_shape %v1 [[0, 1], [2], [3]] {dist.scope = "a"} : tensor<1x4x5x2xf32> into tensor<4x5x2xf32>
  %es = tensor.empty() : tensor<4x5x5xf32>
  %s = linalg.contract indexing_maps = [affine_map<(h, i, j, d) -> (h, i, d)>, affine_map<(h, i, j, d) -> (h, j, d)>, affine_map<(h, i, j, d) -> (h, i, j)>]
      {dist.scope = "a"} ins(%q, %k : tensor<4x5x2xf32>, tensor<4x5x2xf32>) outs(%es : tensor<4x5x5xf32>) -> tensor<4x5x5xf32>
  %ec = tensor.empty() : tensor<4x5x2xf32>
  %c = linalg.batch_matmul {dist.scope = "a"} ins(%s, %v : tensor<4x5x5xf32>, tensor<4x5x2xf32>) outs(%ec : tensor<4x5x2xf32>) -> tensor<4x5x2xf32>
  return %c : tensor<4x5x2xf32>
}

// -----

// q|k|v of 4, 1 and 1 heads of 2 features: three projections, each to its own part of the weight and of the bias.
// The one head of keys and values is whole on both ranks.

// CHECK-LABEL: func.func @grouped
// CHECK-SAME: (%[[X:[a-z0-9]+]]: tensor<5x8xf32>,
// CHECK-SAME: tensor<8x8xf32> {{.*}}dist.parameter = "a.qkv", dist.part = #dist.part<[0, 0] of [8, 12]>, dist.sharding = #dist.sharding<@m, [{?}, {"tp"}]>
// CHECK-SAME: %[[WK:[a-z0-9]+]]: tensor<8x2xf32> {dist.parameter = "a.qkv", dist.part = #dist.part<[0, 8] of [8, 12]>}
// CHECK-SAME: %[[WV:[a-z0-9]+]]: tensor<8x2xf32> {dist.parameter = "a.qkv", dist.part = #dist.part<[0, 10] of [8, 12]>}
// CHECK-SAME: tensor<8xf32> {dist.parameter = "a.bias", dist.part = #dist.part<[0] of [12]>}
// CHECK-SAME: %[[BK:[a-z0-9]+]]: tensor<2xf32> {dist.parameter = "a.bias", dist.part = #dist.part<[8] of [12]>}
// CHECK: %[[K:.*]] = linalg.matmul {{.*}}ins(%[[X]], %[[WK]]
// CHECK-NEXT: %[[WHOLE:.*]] = dist.sharding_constraint %[[K]] <@m, [{?}, {}]> whole "tp"
// CHECK: linalg.generic {{.*}} ins(%[[WHOLE]], %[[BK]]
// CHECK-NOT: tensor.extract_slice
// CHECK-NOT: tensor.concat
// CHECK: return
dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  dist.shard "a" heads over "tp"
}
func.func @grouped(%x: tensor<5x8xf32>, %w: tensor<8x12xf32> {dist.parameter = "a.qkv"}, %b: tensor<12xf32> {dist.parameter = "a.bias"}) -> tensor<4x5x2xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5x12xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<5x12xf32>) -> tensor<5x12xf32>
  %y = linalg.matmul {dist.scope = "a"} ins(%x, %w : tensor<5x8xf32>, tensor<8x12xf32>) outs(%z : tensor<5x12xf32>) -> tensor<5x12xf32>
  %yb = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%y, %b : tensor<5x12xf32>, tensor<12xf32>) outs(%e : tensor<5x12xf32>) attrs = {dist.scope = "a"} {
    ^bb0(%p: f32, %r: f32, %o: f32):
      %sum = arith.addf %p, %r : f32
      linalg.yield %sum : f32
  } -> tensor<5x12xf32>
  %h = tensor.expand_shape %yb [[0], [1, 2]] output_shape [5, 6, 2] {dist.scope = "a"} : tensor<5x12xf32> into tensor<5x6x2xf32>
  %q = tensor.extract_slice %h[0, 0, 0] [5, 4, 2] [1, 1, 1] {dist.scope = "a"} : tensor<5x6x2xf32> to tensor<5x4x2xf32>
  %k = tensor.extract_slice %h[0, 4, 0] [5, 1, 2] [1, 1, 1] {dist.scope = "a"} : tensor<5x6x2xf32> to tensor<5x1x2xf32>
  %v = tensor.extract_slice %h[0, 5, 0] [5, 1, 2] [1, 1, 1] {dist.scope = "a"} : tensor<5x6x2xf32> to tensor<5x1x2xf32>
  %ks = tensor.collapse_shape %k [[0], [1, 2]] {dist.scope = "a"} : tensor<5x1x2xf32> into tensor<5x2xf32>
  %vs = tensor.collapse_shape %v [[0], [1, 2]] {dist.scope = "a"} : tensor<5x1x2xf32> into tensor<5x2xf32>
  %es = tensor.empty() : tensor<4x5x5xf32>
  %s = linalg.contract indexing_maps = [affine_map<(h, i, j, d) -> (i, h, d)>, affine_map<(h, i, j, d) -> (j, d)>, affine_map<(h, i, j, d) -> (h, i, j)>]
      {dist.scope = "a"} ins(%q, %ks : tensor<5x4x2xf32>, tensor<5x2xf32>) outs(%es : tensor<4x5x5xf32>) -> tensor<4x5x5xf32>
  %er = tensor.empty() : tensor<4x5x2xf32>
  %r = linalg.contract indexing_maps = [affine_map<(h, i, j, d) -> (h, i, j)>, affine_map<(h, i, j, d) -> (j, d)>, affine_map<(h, i, j, d) -> (h, i, d)>]
      {dist.scope = "a"} ins(%s, %vs : tensor<4x5x5xf32>, tensor<5x2xf32>) outs(%er : tensor<4x5x2xf32>) -> tensor<4x5x2xf32>
  return %r : tensor<4x5x2xf32>
}

// -----

// Heads that the ranks do not divide: blocks of whole heads, 2 and 1, where features alone would be cut 3 and 3. Three
// of each that are fused are taken apart, so that each of them is cut so.

// CHECK-LABEL: func.func @uneven
// CHECK-SAME: dist.part = #dist.part<[0, 0] of [8, 18]>, dist.sharding = #dist.sharding<@m, [{?}, 3:{"tp"} * {}]>
// CHECK-SAME: dist.part = #dist.part<[0, 6] of [8, 18]>, dist.sharding = #dist.sharding<@m, [{?}, 3:{"tp"} * {}]>
// CHECK-SAME: dist.part = #dist.part<[0, 12] of [8, 18]>, dist.sharding = #dist.sharding<@m, [{?}, 3:{"tp"} * {}]>
// CHECK-COUNT-3: dist.sharding_constraint %{{.*}} <@m, [{?}, 3:{"tp"} * {}]>
dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  dist.shard "a" heads over "tp"
}
func.func @uneven(%x: tensor<5x8xf32>, %w: tensor<8x18xf32> {dist.parameter = "a.qkv"}) -> tensor<3x5x2xf32> {
  %e = tensor.empty() : tensor<5x18xf32>
  %y = linalg.matmul {dist.scope = "a"} ins(%x, %w : tensor<5x8xf32>, tensor<8x18xf32>) outs(%e : tensor<5x18xf32>) -> tensor<5x18xf32>
  %q = tensor.extract_slice %y[0, 0] [5, 6] [1, 1] {dist.scope = "a"} : tensor<5x18xf32> to tensor<5x6xf32>
  %k = tensor.extract_slice %y[0, 6] [5, 6] [1, 1] {dist.scope = "a"} : tensor<5x18xf32> to tensor<5x6xf32>
  %v = tensor.extract_slice %y[0, 12] [5, 6] [1, 1] {dist.scope = "a"} : tensor<5x18xf32> to tensor<5x6xf32>
  %qs = tensor.expand_shape %q [[0], [1, 2]] output_shape [5, 3, 2] {dist.scope = "a"} : tensor<5x6xf32> into tensor<5x3x2xf32>
  %ks = tensor.expand_shape %k [[0], [1, 2]] output_shape [5, 3, 2] {dist.scope = "a"} : tensor<5x6xf32> into tensor<5x3x2xf32>
  %vs = tensor.expand_shape %v [[0], [1, 2]] output_shape [5, 3, 2] {dist.scope = "a"} : tensor<5x6xf32> into tensor<5x3x2xf32>
  %es = tensor.empty() : tensor<3x5x5xf32>
  %s = linalg.contract indexing_maps = [affine_map<(h, i, j, d) -> (i, h, d)>, affine_map<(h, i, j, d) -> (j, h, d)>, affine_map<(h, i, j, d) -> (h, i, j)>]
      {dist.scope = "a"} ins(%qs, %ks : tensor<5x3x2xf32>, tensor<5x3x2xf32>) outs(%es : tensor<3x5x5xf32>) -> tensor<3x5x5xf32>
  %ec = tensor.empty() : tensor<3x5x2xf32>
  %c = linalg.contract indexing_maps = [affine_map<(h, i, j, d) -> (h, i, j)>, affine_map<(h, i, j, d) -> (j, h, d)>, affine_map<(h, i, j, d) -> (h, i, d)>]
      {dist.scope = "a"} ins(%s, %vs : tensor<3x5x5xf32>, tensor<5x3x2xf32>) outs(%ec : tensor<3x5x2xf32>) -> tensor<3x5x2xf32>
  return %c : tensor<3x5x2xf32>
}

// -----

// A part of each head is rotated by itself, and put together with the rest again.

// CHECK-LABEL: func.func @rotated
// CHECK-SAME: dist.parameter = "a.q", dist.sharding = #dist.sharding<@m, [{?}, {"tp"}]>
// CHECK-SAME: dist.parameter = "a.k", dist.sharding = #dist.sharding<@m, [{?}, {"tp"}]>
dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  dist.shard "a" heads over "tp"
}
func.func @rotated(%x: tensor<5x8xf32>, %wq: tensor<8x12xf32> {dist.parameter = "a.q"}, %wk: tensor<8x12xf32> {dist.parameter = "a.k"}) -> tensor<4x5x5xf32> {
  %e = tensor.empty() : tensor<5x12xf32>
  %q = linalg.matmul {dist.scope = "a"} ins(%x, %wq : tensor<5x8xf32>, tensor<8x12xf32>) outs(%e : tensor<5x12xf32>) -> tensor<5x12xf32>
  %k = linalg.matmul {dist.scope = "a"} ins(%x, %wk : tensor<5x8xf32>, tensor<8x12xf32>) outs(%e : tensor<5x12xf32>) -> tensor<5x12xf32>
  %qs = tensor.expand_shape %q [[0], [1, 2]] output_shape [5, 4, 3] {dist.scope = "a"} : tensor<5x12xf32> into tensor<5x4x3xf32>
  %ks = tensor.expand_shape %k [[0], [1, 2]] output_shape [5, 4, 3] {dist.scope = "a"} : tensor<5x12xf32> into tensor<5x4x3xf32>
  %q0 = tensor.extract_slice %qs[0, 0, 0] [5, 4, 1] [1, 1, 1] {dist.scope = "a"} : tensor<5x4x3xf32> to tensor<5x4x1xf32>
  %q1 = tensor.extract_slice %qs[0, 0, 1] [5, 4, 2] [1, 1, 1] {dist.scope = "a"} : tensor<5x4x3xf32> to tensor<5x4x2xf32>
  %k0 = tensor.extract_slice %ks[0, 0, 0] [5, 4, 1] [1, 1, 1] {dist.scope = "a"} : tensor<5x4x3xf32> to tensor<5x4x1xf32>
  %k1 = tensor.extract_slice %ks[0, 0, 1] [5, 4, 2] [1, 1, 1] {dist.scope = "a"} : tensor<5x4x3xf32> to tensor<5x4x2xf32>
  %qr = tensor.concat dim(2) %q1, %q0 {dist.scope = "a"} : (tensor<5x4x2xf32>, tensor<5x4x1xf32>) -> tensor<5x4x3xf32>
  %kr = tensor.concat dim(2) %k1, %k0 {dist.scope = "a"} : (tensor<5x4x2xf32>, tensor<5x4x1xf32>) -> tensor<5x4x3xf32>
  %es = tensor.empty() : tensor<4x5x5xf32>
  %s = linalg.contract indexing_maps = [affine_map<(h, i, j, d) -> (i, h, d)>, affine_map<(h, i, j, d) -> (j, h, d)>, affine_map<(h, i, j, d) -> (h, i, j)>]
      {dist.scope = "a"} ins(%qr, %kr : tensor<5x4x3xf32>, tensor<5x4x3xf32>) outs(%es : tensor<4x5x5xf32>) -> tensor<4x5x5xf32>
  return %s : tensor<4x5x5xf32>
}

// -----

// Queries whose neighbouring features are rotated: parts of each head are cut out, get a dimension more and are put
// together again. The heads are those before.

// CHECK-LABEL: func.func @interleaved
// CHECK-SAME: dist.parameter = "a.q", dist.sharding = #dist.sharding<@m, [{?}, {"tp"}]>
// CHECK-SAME: dist.parameter = "a.k", dist.sharding = #dist.sharding<@m, [{?}, {"tp"}]>
dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  dist.shard "a" heads over "tp"
}
func.func @interleaved(%x: tensor<5x8xf32>, %wq: tensor<8x16xf32> {dist.parameter = "a.q"},
                   %wk: tensor<8x16xf32> {dist.parameter = "a.k"}) -> tensor<4x5x5xf32> {
  %e = tensor.empty() : tensor<5x16xf32>
  %q = linalg.matmul {dist.scope = "a"} ins(%x, %wq : tensor<5x8xf32>, tensor<8x16xf32>) outs(%e : tensor<5x16xf32>) -> tensor<5x16xf32>
  %k = linalg.matmul {dist.scope = "a"} ins(%x, %wk : tensor<5x8xf32>, tensor<8x16xf32>) outs(%e : tensor<5x16xf32>) -> tensor<5x16xf32>
  %qh = tensor.expand_shape %q [[0], [1, 2]] output_shape [5, 4, 4] {dist.scope = "a"} : tensor<5x16xf32> into tensor<5x4x4xf32>
  %kh = tensor.expand_shape %k [[0], [1, 2]] output_shape [5, 4, 4] {dist.scope = "a"} : tensor<5x16xf32> into tensor<5x4x4xf32>
  %even = tensor.extract_slice %qh[0, 0, 0] [5, 4, 2] [1, 1, 2] {dist.scope = "a"} : tensor<5x4x4xf32> to tensor<5x4x2xf32>
  %odd = tensor.extract_slice %qh[0, 0, 1] [5, 4, 2] [1, 1, 2] {dist.scope = "a"} : tensor<5x4x4xf32> to tensor<5x4x2xf32>
  %first = tensor.expand_shape %odd [[0], [1], [2, 3]] output_shape [5, 4, 2, 1] {dist.scope = "a"} : tensor<5x4x2xf32> into tensor<5x4x2x1xf32>
  %second = tensor.expand_shape %even [[0], [1], [2, 3]] output_shape [5, 4, 2, 1] {dist.scope = "a"} : tensor<5x4x2xf32> into tensor<5x4x2x1xf32>
  %pairs = tensor.concat dim(3) %first, %second {dist.scope = "a"} : (tensor<5x4x2x1xf32>, tensor<5x4x2x1xf32>) -> tensor<5x4x2x2xf32>
  %rotated = tensor.collapse_shape %pairs [[0], [1], [2, 3]] {dist.scope = "a"} : tensor<5x4x2x2xf32> into tensor<5x4x4xf32>
  %es = tensor.empty() : tensor<4x5x5xf32>
  %s = linalg.contract indexing_maps = [affine_map<(h, i, j, d) -> (i, h, d)>, affine_map<(h, i, j, d) -> (j, h, d)>, affine_map<(h, i, j, d) -> (h, i, j)>]
      {dist.scope = "a"} ins(%rotated, %kh : tensor<5x4x4xf32>, tensor<5x4x4xf32>) outs(%es : tensor<4x5x5xf32>) -> tensor<4x5x5xf32>
  return %s : tensor<4x5x5xf32>
}
