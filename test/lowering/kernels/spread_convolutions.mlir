// A transposed convolution, which is one of an image with zeros between its elements, becomes convolutions of the image itself.
//
// RUN: dist-opt %s --dist-cpu-select-convolutions --canonicalize --split-input-file | FileCheck %s

#image = affine_map<(n, f, x, c, t) -> (n, c, x + t)>
#kernel = affine_map<(n, f, x, c, t) -> (c, f, t)>
#out = affine_map<(n, f, x, c, t) -> (n, f, x)>

// Stride 2, four taps, one element cut from each end: even results read taps 0 and 2, odd ones 1 and 3.
// CHECK-LABEL: func.func @transposed
// CHECK-SAME: (%[[X:[^:]*]]: {{.*}}, %[[W:[^:]*]]: {{.*}})
// CHECK: %[[EVEN:.*]] = tensor.extract_slice %[[W]][0, 0, 0] [32, 8, 2] [1, 1, 2]
// CHECK: %[[A:.*]] = rt.convolve ins(%[[X]], %[[EVEN]] {{.*}}) outs({{.*}} : tensor<1x8x16xf32>)
// CHECK-SAME: windows [#rt.window<image 2 kernel 2 out 2 stride 1 dilation 1 low 1>]
// CHECK: tensor.insert_slice %[[A]] into {{.*}}[0, 0, 0] [1, 8, 16] [1, 1, 2]
// CHECK: %[[ODD:.*]] = tensor.extract_slice %[[W]][0, 0, 1] [32, 8, 2] [1, 1, 2]
// CHECK: %[[B:.*]] = rt.convolve ins(%[[X]], %[[ODD]] {{.*}}) outs({{.*}} : tensor<1x8x16xf32>)
// CHECK-SAME: windows [#rt.window<image 2 kernel 2 out 2 stride 1 dilation 1 low 0>]
// CHECK: tensor.insert_slice %[[B]] into {{.*}}[0, 0, 1] [1, 8, 16] [1, 1, 2]
func.func @transposed(%x: tensor<1x32x16xf32>, %w: tensor<32x8x4xf32>) -> tensor<1x8x32xf32> {
  %zero = arith.constant 0.0 : f32
  %split = tensor.expand_shape %x [[0], [1], [2, 3]] output_shape [1, 32, 16, 1] : tensor<1x32x16xf32> into tensor<1x32x16x1xf32>
  %apart = tensor.pad %split low[0, 0, 0, 0] high[0, 0, 0, 1] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %zero : f32
  } : tensor<1x32x16x1xf32> to tensor<1x32x16x2xf32>
  %merged = tensor.collapse_shape %apart [[0], [1], [2, 3]] : tensor<1x32x16x2xf32> into tensor<1x32x32xf32>
  %spread = tensor.extract_slice %merged[0, 0, 0] [1, 32, 31] [1, 1, 1] : tensor<1x32x32xf32> to tensor<1x32x31xf32>
  %padded = tensor.pad %spread low[0, 0, 2] high[0, 0, 2] {
  ^bb0(%i: index, %j: index, %k: index):
    tensor.yield %zero : f32
  } : tensor<1x32x31xf32> to tensor<1x32x35xf32>
  %empty = tensor.empty() : tensor<1x8x32xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x8x32xf32>) -> tensor<1x8x32xf32>
  %y = linalg.generic {indexing_maps = [#image, #kernel, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%padded, %w : tensor<1x32x35xf32>, tensor<32x8x4xf32>) outs(%zeros : tensor<1x8x32xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<1x8x32xf32>
  return %y : tensor<1x8x32xf32>
}

// -----

#image = affine_map<(n, f, x, c, t) -> (n, c, x + t)>
#kernel = affine_map<(n, f, x, c, t) -> (c, f, t)>
#out = affine_map<(n, f, x, c, t) -> (n, f, x)>

// What lies between is not zero: nothing is split.
// CHECK-LABEL: func.func @ones_between
// CHECK: tensor.pad
// CHECK: rt.convolve {{.*}} outs({{.*}} : tensor<1x4x29xf32>)
// CHECK-NOT: tensor.insert_slice
func.func @ones_between(%x: tensor<1x8x16xf32>, %w: tensor<8x4x4xf32>) -> tensor<1x4x29xf32> {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %split = tensor.expand_shape %x [[0], [1], [2, 3]] output_shape [1, 8, 16, 1] : tensor<1x8x16xf32> into tensor<1x8x16x1xf32>
  %apart = tensor.pad %split low[0, 0, 0, 0] high[0, 0, 0, 1] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %one : f32
  } : tensor<1x8x16x1xf32> to tensor<1x8x16x2xf32>
  %merged = tensor.collapse_shape %apart [[0], [1], [2, 3]] : tensor<1x8x16x2xf32> into tensor<1x8x32xf32>
  %empty = tensor.empty() : tensor<1x4x29xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x4x29xf32>) -> tensor<1x4x29xf32>
  %y = linalg.generic {indexing_maps = [#image, #kernel, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%merged, %w : tensor<1x8x32xf32>, tensor<8x4x4xf32>) outs(%zeros : tensor<1x4x29xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<1x4x29xf32>
  return %y : tensor<1x4x29xf32>
}
