// RUN: %{root}/tools/dist-opt %s --dist-spmd | %{root}/tools/dist-report - | FileCheck %s

// An interior rank sends low + high = 2 rows of 3 channels, 12 columns and 4
// bytes, and does a quarter of 2 * 4 * 16 * 12 * 3 * 9 FLOP.

// CHECK: halo_exchange  sp    1x3x4x12xf32  288 B
// CHECK-SAME: (1)
// CHECK: (1) the sharding of argument 0 ({{.*}}): brings neighbours' rows of operand 0, which linalg.conv_2d_nchw_fchw reads in windows
// CHECK: 10.4 kFLOP in contractions
dist.mesh @m ["sp" = 4]
func.func @main(%x: tensor<1x3x16x12xf32> {dist.sharding = #dist.sharding<@m, [{}, {}, {"sp"}, {}]>}, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x16x12xf32> {
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %x low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : f32
  } : tensor<1x3x16x12xf32> to tensor<1x3x18x14xf32>
  %f = arith.constant dense<0.0> : tensor<1x4x16x12xf32>
  %r = linalg.conv_2d_nchw_fchw {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%p, %w : tensor<1x3x18x14xf32>, tensor<4x3x3x3xf32>) outs(%f : tensor<1x4x16x12xf32>) -> tensor<1x4x16x12xf32>
  return %r : tensor<1x4x16x12xf32>
}
