// RUN: %{root}/tools/dist-opt %s --split-input-file --dist-spmd --canonicalize --cse | FileCheck %s
// RUN: %{root}/tools/dist-opt %s --split-input-file --dist-propagate --dist-insert-reshards --dist-improve-reshards --dist-verify-placed | FileCheck %s --check-prefix=PLACED

// A sync of a halo says where rows are exchanged; what reads the value in
// windows finds them there. Here the value is multiplied first.

// CHECK-LABEL: func.func @main(
// CHECK: %[[WIDE:.*]] = dist.halo_exchange %arg0 dim 0 low 1 high 1 over "sp"
// CHECK-SAME: cause "dist.sync fwd_pre halo dim 0 over {{.*}}sync_halo.mlir:
// CHECK: arith.mulf %arg0, %arg0
// CHECK-NOT: dist.{{[a-z_]+}} %
// CHECK: linalg.generic {{.*}} ins(%[[WIDE]], %arg1 : tensor<6xf32>, tensor<3xf32>)

// At level 2 the sync is there, placed as its operand.
// PLACED-LABEL: func.func @main(
// PLACED: dist.sync %arg0 fwd_pre halo dim 0 low 1 high 1 over "sp" cause "{{.*}}" {dist.shardings = [#dist.sharding<@m, [{"sp"}]>]}
#in = affine_map<(o, k) -> (o + k)>
#window = affine_map<(o, k) -> (k)>
#out = affine_map<(o, k) -> (o)>
dist.mesh @m ["sp" = 4]
func.func @main(%x: tensor<16xf32> {dist.sharding = #dist.sharding<@m, [{"sp"}]>}, %w: tensor<3xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
  %zero = arith.constant 0.0 : f32
  %s = dist.sync %x fwd_pre halo dim 0 low 1 high 1 over "sp" : tensor<16xf32>
  %square = arith.mulf %s, %s : tensor<16xf32>
  %p = tensor.pad %s low[1] high[1] {
  ^bb0(%a: index):
    tensor.yield %zero : f32
  } : tensor<16xf32> to tensor<18xf32>
  %f = arith.constant dense<0.0> : tensor<16xf32>
  %r = linalg.generic {indexing_maps = [#in, #window, #out], iterator_types = ["parallel", "reduction"]}
      ins(%p, %w : tensor<18xf32>, tensor<3xf32>) outs(%f : tensor<16xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<16xf32>
  return %r, %square : tensor<16xf32>, tensor<16xf32>
}

// -----

// Two dimensions: the second sync exchanges what the first one brought, and so
// the corners.

// CHECK-LABEL: func.func @main(
// CHECK: %[[X:.*]] = dist.halo_exchange %arg0 dim 2 low 1 high 1 over "y" {{.*}} -> tensor<1x3x10x6xf32>
// CHECK: %[[XY:.*]] = dist.halo_exchange %[[X]] dim 3 low 1 high 1 over "x" {{.*}} -> tensor<1x3x10x8xf32>
// CHECK-NOT: dist.{{[a-z_]+}} %
// CHECK: linalg.conv_2d_nchw_fchw {{.*}} ins(%[[XY]],
dist.mesh @m ["y" = 2, "x" = 2]
func.func @main(%x: tensor<1x3x16x12xf32> {dist.sharding = #dist.sharding<@m, [{}, {}, {"y"}, {"x"}]>}, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x16x12xf32> {
  %zero = arith.constant 0.0 : f32
  %s = dist.sync %x fwd_pre halo dim 2 low 1 high 1 boundary zero over "y" : tensor<1x3x16x12xf32>
  %t = dist.sync %s fwd_pre halo dim 3 low 1 high 1 over "x" : tensor<1x3x16x12xf32>
  %p = tensor.pad %t low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : f32
  } : tensor<1x3x16x12xf32> to tensor<1x3x18x14xf32>
  %f = arith.constant dense<0.0> : tensor<1x4x16x12xf32>
  %r = linalg.conv_2d_nchw_fchw {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%p, %w : tensor<1x3x18x14xf32>, tensor<4x3x3x3xf32>) outs(%f : tensor<1x4x16x12xf32>) -> tensor<1x4x16x12xf32>
  return %r : tensor<1x4x16x12xf32>
}

// -----

// Neighbours' keys and values are computed of rows that the sync brought, here
// of what both are made of: nothing else is exchanged.

// CHECK-LABEL: func.func @main(
// CHECK: %[[X:.*]] = dist.halo_exchange %arg0 dim 0 low 4 high 0 over "sp"
// CHECK-NOT: dist.halo_exchange
// CHECK: linalg.{{.*}} ins(%[[X]], %{{.*}} : tensor<20x32xf32>, tensor<32x32xf32>)
// CHECK: linalg.{{.*}} ins(%[[X]], %{{.*}} : tensor<20x32xf32>, tensor<32x32xf32>)
// CHECK-NOT: dist.halo_exchange
// CHECK: dist.attention
#q = affine_map<(h, i, j, d, e) -> (i, h, d)>
#k = affine_map<(h, i, j, d, e) -> (j, h, d)>
#v = affine_map<(h, i, j, d, e) -> (j, h, e)>
#o = affine_map<(h, i, j, d, e) -> (i, h, e)>
dist.mesh @m ["sp" = 4]
func.func @main(%x: tensor<64x32xf32> {dist.sharding = #dist.sharding<@m, [{"sp"}, {}]>}, %wk: tensor<32x32xf32>, %wv: tensor<32x32xf32>) -> tensor<64x4x8xf32> {
  %s = dist.sync %x fwd_pre halo dim 0 low 4 high 0 over "sp" : tensor<64x32xf32>
  %zero = arith.constant 0.0 : f32
  %e2 = tensor.empty() : tensor<64x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e2 : tensor<64x32xf32>) -> tensor<64x32xf32>
  %k2 = linalg.matmul ins(%s, %wk : tensor<64x32xf32>, tensor<32x32xf32>) outs(%f : tensor<64x32xf32>) -> tensor<64x32xf32>
  %v2 = linalg.matmul ins(%s, %wv : tensor<64x32xf32>, tensor<32x32xf32>) outs(%f : tensor<64x32xf32>) -> tensor<64x32xf32>
  %q = tensor.expand_shape %s [[0], [1, 2]] output_shape [64, 4, 8] : tensor<64x32xf32> into tensor<64x4x8xf32>
  %k = tensor.expand_shape %k2 [[0], [1, 2]] output_shape [64, 4, 8] : tensor<64x32xf32> into tensor<64x4x8xf32>
  %v = tensor.expand_shape %v2 [[0], [1, 2]] output_shape [64, 4, 8] : tensor<64x32xf32> into tensor<64x4x8xf32>
  %e = tensor.empty() : tensor<64x4x8xf32>
  %o = dist.attention(%q, %k, %v : tensor<64x4x8xf32>, tensor<64x4x8xf32>, tensor<64x4x8xf32>) outs(%e : tensor<64x4x8xf32>) maps [#q, #k, #v, #o] window [4, 0] {
  ^bb0(%score: f32, %h: index, %i: index, %j: index):
    %four = arith.constant 4 : index
    %inf = arith.constant 0xFF800000 : f32
    %near = arith.addi %j, %four : index
    %before = arith.cmpi sle, %j, %i : index
    %after = arith.cmpi sge, %near, %i : index
    %seen = arith.andi %before, %after : i1
    %y = arith.select %seen, %score, %inf : f32
    dist.attention_yield %y : f32
  } -> tensor<64x4x8xf32>
  return %o : tensor<64x4x8xf32>
}

// -----

// A grouped convolution: channels are taken apart before rows are read, and so
// are those of the rows that were brought.

// CHECK-LABEL: func.func @groups(
// CHECK: %[[WIDE:.*]] = dist.halo_exchange %arg0 dim 1 low 1 high 1 over "sp" {{.*}} : tensor<8x4xf32> -> tensor<8x6xf32>
// CHECK: %[[APART:.*]] = tensor.expand_shape %[[WIDE]] {{\[\[}}0, 1], [2]] output_shape [4, 2, 6]
// CHECK-NOT: dist.{{[a-z_]+}} %
// CHECK: linalg.generic {{.*}} ins(%[[APART]], %arg1 : tensor<4x2x6xf32>, tensor<4x2x3xf32>)
#in = affine_map<(g, o, c, k) -> (g, c, o + k)>
#window = affine_map<(g, o, c, k) -> (g, c, k)>
#out = affine_map<(g, o, c, k) -> (g, o)>
dist.mesh @m ["sp" = 4]
func.func @groups(%x: tensor<8x16xf32> {dist.sharding = #dist.sharding<@m, [{}, {"sp"}]>}, %w: tensor<4x2x3xf32>) -> tensor<4x16xf32> {
  %zero = arith.constant 0.0 : f32
  %s = dist.sync %x fwd_pre halo dim 1 low 1 high 1 over "sp" : tensor<8x16xf32>
  %e = tensor.expand_shape %s [[0, 1], [2]] output_shape [4, 2, 16] : tensor<8x16xf32> into tensor<4x2x16xf32>
  %p = tensor.pad %e low[0, 0, 1] high[0, 0, 1] {
  ^bb0(%a: index, %b: index, %c: index):
    tensor.yield %zero : f32
  } : tensor<4x2x16xf32> to tensor<4x2x18xf32>
  %f = arith.constant dense<0.0> : tensor<4x16xf32>
  %r = linalg.generic {indexing_maps = [#in, #window, #out], iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%p, %w : tensor<4x2x18xf32>, tensor<4x2x3xf32>) outs(%f : tensor<4x16xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// A block of one row, and a dimension of size 1 more: which of them are rows
// is told by the whole tensors.

// CHECK-LABEL: func.func @one_row(
// CHECK: %[[WIDE:.*]] = dist.halo_exchange %arg0 dim 0 low 1 high 1 over "sp" {{.*}} : tensor<1x8xf32> -> tensor<3x8xf32>
// CHECK: %[[APART:.*]] = tensor.expand_shape %[[WIDE]] {{\[\[}}0, 1], [2]] output_shape [1, 3, 8]
// CHECK-NOT: dist.{{[a-z_]+}} %
// CHECK: linalg.generic {{.*}} ins(%[[APART]], %arg1 : tensor<1x3x8xf32>, tensor<3xf32>)
#in = affine_map<(b, o, c, k) -> (b, o + k, c)>
#window = affine_map<(b, o, c, k) -> (k)>
#out = affine_map<(b, o, c, k) -> (b, o, c)>
dist.mesh @m ["sp" = 4]
func.func @one_row(%x: tensor<4x8xf32> {dist.sharding = #dist.sharding<@m, [{"sp"}, {}]>}, %w: tensor<3xf32>) -> tensor<1x4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %s = dist.sync %x fwd_pre halo dim 0 low 1 high 1 over "sp" : tensor<4x8xf32>
  %e = tensor.expand_shape %s [[0, 1], [2]] output_shape [1, 4, 8] : tensor<4x8xf32> into tensor<1x4x8xf32>
  %p = tensor.pad %e low[0, 1, 0] high[0, 1, 0] {
  ^bb0(%a: index, %b: index, %c: index):
    tensor.yield %zero : f32
  } : tensor<1x4x8xf32> to tensor<1x6x8xf32>
  %f = arith.constant dense<0.0> : tensor<1x4x8xf32>
  %r = linalg.generic {indexing_maps = [#in, #window, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%p, %w : tensor<1x6x8xf32>, tensor<3xf32>) outs(%f : tensor<1x4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<1x4x8xf32>
  return %r : tensor<1x4x8xf32>
}
