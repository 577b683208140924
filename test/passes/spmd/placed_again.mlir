// RUN: %{root}/tools/dist-opt %s --dist-propagate -o - | %{root}/tools/dist-opt - --dist-spmd -o - | FileCheck %s

// What an earlier run has placed, and is then merged row by row, has other
// dimensions than it had.

// CHECK: dist.halo_exchange
// CHECK: dist.halo_reduce
#map = affine_map<(d0) -> (d0)>
module {
  dist.mesh @m ["x" = 2, "y" = 3, "z" = 2]
  func.func @main(%arg0: tensor<4xf64>, %arg1: tensor<4x2x5x9xf64> {dist.sharding = #dist.sharding<@m, [{"z", "x", ?}, {?}, {"y", ?}, {?}]>}) -> (tensor<4xf64> {dist.sharding = #dist.sharding<@m, [{"x", "z", "y", ?}]>}, tensor<4x2x4x9xf64>, tensor<8x36xf64> {dist.sharding = #dist.sharding<@m, [{?}, {}]>}) {
    %0 = tensor.empty() : tensor<4xf64>
    %1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%arg0 : tensor<4xf64>) outs(%0 : tensor<4xf64>) {
    ^bb0(%in: f64, %out: f64):
      %6 = arith.subf %in, %in : f64
      linalg.yield %6 : f64
    } -> tensor<4xf64>
    %cst = arith.constant -8.000000e+00 : f64
    %padded = tensor.pad %arg1 low[0, 1, 0, 0] high[0, 0, 0, 0] {
    ^bb0(%arg2: index, %arg3: index, %arg4: index, %arg5: index):
      tensor.yield %cst : f64
    } : tensor<4x2x5x9xf64> to tensor<4x3x5x9xf64>
    %2 = tensor.empty() : tensor<2x2xf64>
    %cst_0 = arith.constant -1.000000e+06 : f64
    %3 = tensor.empty() : tensor<4x2x4x9xf64>
    %4 = linalg.fill ins(%cst_0 : f64) outs(%3 : tensor<4x2x4x9xf64>) -> tensor<4x2x4x9xf64>
    %5 = linalg.pooling_nhwc_max {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%padded, %2 : tensor<4x3x5x9xf64>, tensor<2x2xf64>) outs(%4 : tensor<4x2x4x9xf64>) -> tensor<4x2x4x9xf64>
    %collapsed = tensor.collapse_shape %5 [[0, 1], [2, 3]] : tensor<4x2x4x9xf64> into tensor<8x36xf64>
    return %1, %5, %collapsed : tensor<4xf64>, tensor<4x2x4x9xf64>, tensor<8x36xf64>
  }
}
