// RUN: dist-opt %s --split-input-file --dist-sparsify-sums | FileCheck %s

// 4 periods of 3 results, each of up to 2 of 6 elements around its period: what
// counts is looked up in the image itself, for all 12 results by one loop.
// CHECK-LABEL: @whole
// CHECK: arith.constant dense<{{\[\[}}0, 0, 1], [2, 2, 3], [4, 4, 5], [6, 6, 7]]> : tensor<4x3xi64>
// CHECK: arith.constant dense<{{\[\[}}0, 1, 2], [2, 3, 4], [4, 5, 6], [6, 7, 7]]> : tensor<4x3xi64>
// CHECK: linalg.generic
// CHECK-SAME: iterator_types = ["parallel", "parallel"]
// CHECK: tensor.extract %arg0[%{{.*}}, %{{.*}}] : tensor<5x8xf32>
// CHECK: arith.cmpf oeq
// CHECK: tensor.extract %arg0
// CHECK: tensor.expand_shape %{{.*}} {{\[\[}}0], [1, 2]] output_shape [5, 4, 3]
#image = affine_map<(c, q, r, k) -> (c, q * 2 + k)>
#band = affine_map<(c, q, r, k) -> (q, r, k)>
#out = affine_map<(c, q, r, k) -> (c, q, r)>
func.func @whole(%x: tensor<5x8xf32>, %init: tensor<5x4x3xf32>) -> tensor<5x4x3xf32> {
  %zero = arith.constant 0.0 : f32
  %band = arith.constant dense<[
    [[0.0, 1.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.5, 0.5, 0.0, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5, 0.0, 0.0]],
    [[0.0, 1.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.5, 0.5, 0.0, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5, 0.0, 0.0]],
    [[0.0, 0.5, 0.0, 0.0, 0.0, 0.0], [0.0, 0.5, 0.5, 0.0, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5, 0.0, 0.0]],
    [[0.0, 1.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.5, 0.5, 0.0, 0.0, 0.0], [0.0, 0.0, 0.5, 0.0, 0.0, 0.0]]]> : tensor<4x3x6xf32>
  %padded = tensor.pad %x low[0, 1] high[0, 3] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<5x8xf32> to tensor<5x12xf32>
  %0 = linalg.generic {indexing_maps = [#image, #band, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%padded, %band : tensor<5x12xf32>, tensor<4x3x6xf32>) outs(%init : tensor<5x4x3xf32>) {
  ^bb0(%a: f32, %w: f32, %sum: f32):
    %p = arith.mulf %a, %w : f32
    %none = arith.cmpf oeq, %w, %zero : f32
    %counted = arith.select %none, %zero, %p : f32
    %s = arith.addf %sum, %counted : f32
    linalg.yield %s : f32
  } -> tensor<5x4x3xf32>
  return %0 : tensor<5x4x3xf32>
}

// -----

// A device's part of the weights: places count from its own first element. A
// result of which nothing counts reads anything.
// CHECK-LABEL: @part
// CHECK: dist.local_constant dense<{{\[\[}}0, 1], [2, 3], [0, 1], [2, 0]]> : tensor<4x2xi64> <@m, [{"r"}, {}]> -> tensor<2x2xi64>
// CHECK: dist.local_constant dense<{{\[\[}}1.000000e+00, 2.000000e+00], [3.000000e+00, 4.000000e+00], [5.000000e+00, 6.000000e+00], [7.000000e+00, 0.000000e+00]]> : tensor<4x2xf32> <@m, [{"r"}, {}]> -> tensor<2x2xf32>
// CHECK: linalg.generic
// CHECK-SAME: iterator_types = ["parallel"]
// CHECK-NOT: linalg.generic
#image = affine_map<(q, r, k) -> (q * 2 + k)>
#band = affine_map<(q, r, k) -> (q, r, k)>
#out = affine_map<(q, r, k) -> (q, r)>
dist.mesh @m ["r" = 2]
func.func @part(%x: tensor<5xf32>, %init: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %zero = arith.constant 0.0 : f32
  %band = dist.local_constant dense<[[[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]], [[3.0, 0.0, 0.0], [0.0, 4.0, 0.0]],
                                     [[5.0, 0.0, 0.0], [0.0, 6.0, 0.0]], [[7.0, 0.0, 0.0], [0.0, 0.0, 0.0]]]> : tensor<4x2x3xf32> <@m, [{"r"}, {}, {}]> -> tensor<2x2x3xf32>
  %0 = linalg.generic {indexing_maps = [#image, #band, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %band : tensor<5xf32>, tensor<2x2x3xf32>) outs(%init : tensor<2x2xf32>) {
  ^bb0(%a: f32, %w: f32, %sum: f32):
    %p = arith.mulf %a, %w : f32
    %none = arith.cmpf oeq, %w, %zero : f32
    %counted = arith.select %none, %zero, %p : f32
    %s = arith.addf %sum, %counted : f32
    linalg.yield %s : f32
  } -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}

// -----

// Not where zeros count, or where half of the weights are none.
// CHECK-LABEL: @dense
// CHECK-COUNT-2: iterator_types = ["parallel", "reduction"]
#image = affine_map<(q, k) -> (q + k)>
#band = affine_map<(q, k) -> (q, k)>
#out = affine_map<(q, k) -> (q)>
func.func @dense(%x: tensor<5xf32>, %init: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %zero = arith.constant 0.0 : f32
  %few = arith.constant dense<[[1.0, 0.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0]]> : tensor<2x4xf32>
  %half = arith.constant dense<[[1.0, 2.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0]]> : tensor<2x4xf32>
  %0 = linalg.generic {indexing_maps = [#image, #band, #out], iterator_types = ["parallel", "reduction"]} ins(%x, %few : tensor<5xf32>, tensor<2x4xf32>) outs(%init : tensor<2xf32>) {
  ^bb0(%a: f32, %w: f32, %sum: f32):
    %p = arith.mulf %a, %w : f32
    %s = arith.addf %sum, %p : f32
    linalg.yield %s : f32
  } -> tensor<2xf32>
  %1 = linalg.generic {indexing_maps = [#image, #band, #out], iterator_types = ["parallel", "reduction"]} ins(%x, %half : tensor<5xf32>, tensor<2x4xf32>) outs(%init : tensor<2xf32>) {
  ^bb0(%a: f32, %w: f32, %sum: f32):
    %p = arith.mulf %a, %w : f32
    %none = arith.cmpf oeq, %w, %zero : f32
    %counted = arith.select %none, %zero, %p : f32
    %s = arith.addf %sum, %counted : f32
    linalg.yield %s : f32
  } -> tensor<2xf32>
  return %0, %1 : tensor<2xf32>, tensor<2xf32>
}

// -----

// A pad that only running tells is read.
// CHECK-LABEL: @running_pad
// CHECK: %[[PAD:.*]] = tensor.pad %{{.*}} low[%{{.*}}] high[%{{.*}}]
// CHECK-COUNT-2: tensor.extract %[[PAD]]
#image = affine_map<(q, k) -> (q + k)>
#band = affine_map<(q, k) -> (q, k)>
#out = affine_map<(q, k) -> (q)>
func.func @running_pad(%x: tensor<5xf32>, %init: tensor<2xf32>, %low: index, %high: index) -> tensor<2xf32> {
  %zero = arith.constant 0.0 : f32
  %few = arith.constant dense<[[1.0, 0.0, 0.0, 0.0, 0.0], [0.0, 2.0, 3.0, 0.0, 0.0]]> : tensor<2x5xf32>
  %padded = tensor.pad %x low[%low] high[%high] {
  ^bb0(%j: index):
    tensor.yield %zero : f32
  } : tensor<5xf32> to tensor<9xf32>
  %0 = linalg.generic {indexing_maps = [#image, #band, #out], iterator_types = ["parallel", "reduction"]} ins(%padded, %few : tensor<9xf32>, tensor<2x5xf32>) outs(%init : tensor<2xf32>) {
  ^bb0(%a: f32, %w: f32, %sum: f32):
    %p = arith.mulf %a, %w : f32
    %none = arith.cmpf oeq, %w, %zero : f32
    %counted = arith.select %none, %zero, %p : f32
    %s = arith.addf %sum, %counted : f32
    linalg.yield %s : f32
  } -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
