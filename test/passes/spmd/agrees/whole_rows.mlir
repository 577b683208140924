// RUN: dist-fuzz %s
// RUN: %{root}/tools/dist-opt %s --split-input-file --dist-spmd -o - | FileCheck %s

// What every device has is not exchanged: rows beside a block are taken from
// all of them, also where blocks are uneven and what is past the ends is one.

// CHECK-LABEL: func.func @main(
// CHECK: dist.all_gather
// CHECK-NOT: dist.halo_exchange
// CHECK: tensor.pad %{{.*}} low[0, 0, 1, 0] high[0, 0, 3, 0]
// CHECK-NOT: dist.halo_exchange
// CHECK: linalg.conv_2d_nchw_fchw
// CHECK-SAME: outs(%{{.*}} : tensor<1x4x5x11xf64>)
dist.mesh @m ["sp" = 4]
func.func @main(%x: tensor<1x3x18x11xf64> {dist.sharding = #dist.sharding<@m, [{}, {}, {"sp"}, {}]>}, %w: tensor<4x3x3x3xf64>) -> tensor<1x4x18x11xf64> {
  %one = arith.constant 1.0 : f64
  %s = dist.sync %x fwd_pre all_gather dim 2 over "sp" : tensor<1x3x18x11xf64>
  %p = tensor.pad %s low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %one : f64
  } : tensor<1x3x18x11xf64> to tensor<1x3x20x13xf64>
  %f = arith.constant dense<0.0> : tensor<1x4x18x11xf64>
  %r = linalg.conv_2d_nchw_fchw {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%p, %w : tensor<1x3x20x13xf64>, tensor<4x3x3x3xf64>) outs(%f : tensor<1x4x18x11xf64>) -> tensor<1x4x18x11xf64>
  %t = dist.sharding_constraint %r <@m, [{}, {}, {"sp"}, {}]> : tensor<1x4x18x11xf64>
  return %t : tensor<1x4x18x11xf64>
}

// -----

// Of rows and columns.

// CHECK-LABEL: func.func @main(
// CHECK-NOT: dist.halo_exchange
// CHECK: linalg.conv_2d_nchw_fchw
// CHECK-SAME: outs(%{{.*}} : tensor<1x4x6x6xf64>)
dist.mesh @m ["y" = 3, "x" = 2]
func.func @main(%x: tensor<1x3x18x11xf64> {dist.sharding = #dist.sharding<@m, [{}, {}, {"y"}, {"x"}]>}, %w: tensor<4x3x3x3xf64>) -> tensor<1x4x18x11xf64> {
  %one = arith.constant 1.0 : f64
  %y = dist.sync %x fwd_pre all_gather dim 2 over "y" : tensor<1x3x18x11xf64>
  %s = dist.sync %y fwd_pre all_gather dim 3 over "x" : tensor<1x3x18x11xf64>
  %p = tensor.pad %s low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %one : f64
  } : tensor<1x3x18x11xf64> to tensor<1x3x20x13xf64>
  %f = arith.constant dense<0.0> : tensor<1x4x18x11xf64>
  %r = linalg.conv_2d_nchw_fchw {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%p, %w : tensor<1x3x20x13xf64>, tensor<4x3x3x3xf64>) outs(%f : tensor<1x4x18x11xf64>) -> tensor<1x4x18x11xf64>
  %t = dist.sharding_constraint %r <@m, [{}, {}, {"y"}, {"x"}]> : tensor<1x4x18x11xf64>
  return %t : tensor<1x4x18x11xf64>
}

// -----

// Keys and values that a schedule gathers, under a window.

// CHECK-LABEL: func.func @main(
// CHECK-COUNT-2: dist.all_gather
// CHECK-NOT: dist.halo_exchange
// CHECK: dist.attention
#q = affine_map<(h, i, j, d, e) -> (i, h, d)>
#k = affine_map<(h, i, j, d, e) -> (j, h, d)>
#v = affine_map<(h, i, j, d, e) -> (j, h, e)>
#o = affine_map<(h, i, j, d, e) -> (i, h, e)>
dist.mesh @m ["sp" = 4]
func.func @main(%x: tensor<63x32xf64> {dist.sharding = #dist.sharding<@m, [{"sp"}, {}]>}, %wk: tensor<32x32xf64>, %wv: tensor<32x32xf64>) -> (tensor<63x4x8xf64> {dist.sharding = #dist.sharding<@m, [{"sp"}, {}, {}]>}) {
  %zero = arith.constant 0.0 : f64
  %e2 = tensor.empty() : tensor<63x32xf64>
  %f = linalg.fill ins(%zero : f64) outs(%e2 : tensor<63x32xf64>) -> tensor<63x32xf64>
  %k2 = linalg.matmul ins(%x, %wk : tensor<63x32xf64>, tensor<32x32xf64>) outs(%f : tensor<63x32xf64>) -> tensor<63x32xf64>
  %v2 = linalg.matmul ins(%x, %wv : tensor<63x32xf64>, tensor<32x32xf64>) outs(%f : tensor<63x32xf64>) -> tensor<63x32xf64>
  %k3 = dist.sync %k2 fwd_post all_gather dim 0 over "sp" : tensor<63x32xf64>
  %v3 = dist.sync %v2 fwd_post all_gather dim 0 over "sp" : tensor<63x32xf64>
  %q = tensor.expand_shape %x [[0], [1, 2]] output_shape [63, 4, 8] : tensor<63x32xf64> into tensor<63x4x8xf64>
  %k = tensor.expand_shape %k3 [[0], [1, 2]] output_shape [63, 4, 8] : tensor<63x32xf64> into tensor<63x4x8xf64>
  %v = tensor.expand_shape %v3 [[0], [1, 2]] output_shape [63, 4, 8] : tensor<63x32xf64> into tensor<63x4x8xf64>
  %e = tensor.empty() : tensor<63x4x8xf64>
  %o = dist.attention(%q, %k, %v : tensor<63x4x8xf64>, tensor<63x4x8xf64>, tensor<63x4x8xf64>) outs(%e : tensor<63x4x8xf64>) maps [#q, #k, #v, #o] window [4, 0] {
  ^bb0(%score: f64, %h: index, %i: index, %j: index):
    %four = arith.constant 4 : index
    %inf = arith.constant 0xFFF0000000000000 : f64
    %near = arith.addi %j, %four : index
    %before = arith.cmpi sle, %j, %i : index
    %after = arith.cmpi sge, %near, %i : index
    %seen = arith.andi %before, %after : i1
    %y = arith.select %seen, %score, %inf : f64
    dist.attention_yield %y : f64
  } -> tensor<63x4x8xf64>
  return %o : tensor<63x4x8xf64>
}
