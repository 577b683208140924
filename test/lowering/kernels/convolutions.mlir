// What is a convolution by its body and maps becomes a call, with what stands around it.
//
// RUN: dist-opt %s --dist-select-convolutions --canonicalize --split-input-file | FileCheck %s

// Zeros around the image are the call's; so are the zeros below the sum, and the bias.
// CHECK-LABEL: func.func @padded_with_bias
// CHECK-SAME: (%[[X:[^:]*]]: {{.*}}, %[[W:[^:]*]]: {{.*}}, %[[B:[^:]*]]: tensor<8xf32>)
// CHECK: %[[E:.*]] = tensor.empty
// CHECK: %[[Y:.*]] = rt.convolve ins(%[[X]], %[[W]] : tensor<2x3x9x9xf32>, tensor<8x3x3x3xf32>) bias(%[[B]] : tensor<8xf32>) outs(%[[E]] : tensor<2x8x5x5xf32>)
// CHECK-SAME: batch [0, 0] group [] channel [1, 1] feature [0, 1]
// CHECK-SAME: windows [#rt.window<image 2 kernel 2 out 2 stride 2 dilation 1 low 1>, #rt.window<image 3 kernel 3 out 3 stride 2 dilation 1 low 1>]
// CHECK-NOT: accumulate
// CHECK: return %[[Y]]
func.func @padded_with_bias(%x: tensor<2x3x9x9xf32>, %w: tensor<8x3x3x3xf32>, %b: tensor<8xf32>) -> tensor<2x8x5x5xf32> {
  %zero = arith.constant 0.0 : f32
  %padded = tensor.pad %x low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %zero : f32
  } : tensor<2x3x9x9xf32> to tensor<2x3x11x11xf32>
  %empty = tensor.empty() : tensor<2x8x5x5xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<2x8x5x5xf32>) -> tensor<2x8x5x5xf32>
  %y = linalg.conv_2d_nchw_fchw {strides = dense<2> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
      ins(%padded, %w : tensor<2x3x11x11xf32>, tensor<8x3x3x3xf32>) outs(%zeros : tensor<2x8x5x5xf32>) -> tensor<2x8x5x5xf32>
  %shaped = tensor.expand_shape %b [[0, 1, 2, 3]] output_shape [1, 8, 1, 1] : tensor<8xf32> into tensor<1x8x1x1xf32>
  %sum = linalg.generic {
      indexing_maps = [affine_map<(n, c, h, w) -> (n, c, h, w)>, affine_map<(n, c, h, w) -> (0, c, 0, 0)>, affine_map<(n, c, h, w) -> (n, c, h, w)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%y, %shaped : tensor<2x8x5x5xf32>, tensor<1x8x1x1xf32>) outs(%empty : tensor<2x8x5x5xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %s = arith.addf %a, %c : f32
    linalg.yield %s : f32
  } -> tensor<2x8x5x5xf32>
  return %sum : tensor<2x8x5x5xf32>
}

// -----

// Groups, and a pad before they are told apart; a bias after they are merged.
// CHECK-LABEL: func.func @groups
// CHECK: %[[X:.*]] = tensor.expand_shape %arg0 {{.*}} : tensor<1x4x7xf32> into tensor<1x2x2x7xf32>
// CHECK: rt.convolve ins(%[[X]], %arg1 : {{.*}}) bias(%arg2 : tensor<6xf32>)
// CHECK-SAME: batch [0, 0] group [1, 0, 1] channel [2, 2] feature [1, 2]
// CHECK-SAME: windows [#rt.window<image 3 kernel 3 out 3 stride 1 dilation 2 low 3>]
// CHECK-NOT: linalg.generic
func.func @groups(%x: tensor<1x4x7xf32>, %w: tensor<2x3x2x3xf32>, %b: tensor<6xf32>) -> tensor<1x6x70xf32> {
  %zero = arith.constant 0.0 : f32
  %padded = tensor.pad %x low[0, 0, 3] high[0, 0, 64] {
  ^bb0(%i: index, %j: index, %k: index):
    tensor.yield %zero : f32
  } : tensor<1x4x7xf32> to tensor<1x4x74xf32>
  %apart = tensor.expand_shape %padded [[0], [1, 2], [3]] output_shape [1, 2, 2, 74] : tensor<1x4x74xf32> into tensor<1x2x2x74xf32>
  %empty = tensor.empty() : tensor<1x2x3x70xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x2x3x70xf32>) -> tensor<1x2x3x70xf32>
  %y = linalg.generic {
      indexing_maps = [affine_map<(n, g, f, x, c, t) -> (n, g, c, x + t * 2)>, affine_map<(n, g, f, x, c, t) -> (g, f, c, t)>, affine_map<(n, g, f, x, c, t) -> (n, g, f, x)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%apart, %w : tensor<1x2x2x74xf32>, tensor<2x3x2x3xf32>) outs(%zeros : tensor<1x2x3x70xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %p = arith.mulf %a, %c : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<1x2x3x70xf32>
  %merged = tensor.collapse_shape %y [[0], [1, 2], [3]] : tensor<1x2x3x70xf32> into tensor<1x6x70xf32>
  %shaped = tensor.expand_shape %b [[0, 1, 2]] output_shape [1, 6, 1] : tensor<6xf32> into tensor<1x6x1xf32>
  %to = tensor.empty() : tensor<1x6x70xf32>
  %sum = linalg.generic {
      indexing_maps = [affine_map<(n, c, x) -> (n, c, x)>, affine_map<(n, c, x) -> (0, c, 0)>, affine_map<(n, c, x) -> (n, c, x)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%merged, %shaped : tensor<1x6x70xf32>, tensor<1x6x1xf32>) outs(%to : tensor<1x6x70xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %s = arith.addf %a, %c : f32
    linalg.yield %s : f32
  } -> tensor<1x6x70xf32>
  return %sum : tensor<1x6x70xf32>
}

// -----

// A residual sum is computed where the other tensor lies, if nobody needs that afterwards.
// CHECK-LABEL: func.func @residual
// CHECK: %[[R:.*]] = linalg.exp
// CHECK: rt.convolve {{.*}} outs(%[[R]] : tensor<1x8x40xf32>){{.*}} accumulate
// CHECK-NOT: arith.addf
func.func @residual(%x: tensor<1x8x40xf32>, %w: tensor<8x8x1xf32>) -> tensor<1x8x40xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x8x40xf32>
  %r = linalg.exp ins(%x : tensor<1x8x40xf32>) outs(%empty : tensor<1x8x40xf32>) -> tensor<1x8x40xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x8x40xf32>) -> tensor<1x8x40xf32>
  %y = linalg.conv_1d_ncw_fcw {strides = dense<1> : tensor<1xi64>, dilations = dense<1> : tensor<1xi64>}
      ins(%r, %w : tensor<1x8x40xf32>, tensor<8x8x1xf32>) outs(%zeros : tensor<1x8x40xf32>) -> tensor<1x8x40xf32>
  %sum = linalg.generic {
      indexing_maps = [affine_map<(n, c, x) -> (n, c, x)>, affine_map<(n, c, x) -> (n, c, x)>, affine_map<(n, c, x) -> (n, c, x)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%y, %r : tensor<1x8x40xf32>, tensor<1x8x40xf32>) outs(%empty : tensor<1x8x40xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %s = arith.addf %a, %c : f32
    linalg.yield %s : f32
  } -> tensor<1x8x40xf32>
  return %sum : tensor<1x8x40xf32>
}

// -----

// Other elements than zero around the image stay; so does a sum in f64, and one that is too small for a call.
// CHECK-LABEL: func.func @stays
// CHECK: tensor.pad
// CHECK: rt.convolve {{.*}} low 0>
// CHECK: linalg.conv_1d_ncw_fcw
// CHECK: linalg.conv_1d_ncw_fcw
func.func @stays(%x: tensor<1x8x30xf32>, %w: tensor<8x8x3xf32>, %x64: tensor<1x8x32xf64>, %w64: tensor<8x8x3xf64>,
                 %tiny: tensor<1x1x4xf32>, %one: tensor<1x1x2xf32>)
    -> (tensor<1x8x30xf32>, tensor<1x8x30xf64>, tensor<1x1x3xf32>) {
  %edge = arith.constant 1.0 : f32
  %zero = arith.constant 0.0 : f32
  %zero64 = arith.constant 0.0 : f64
  %padded = tensor.pad %x low[0, 0, 1] high[0, 0, 1] {
  ^bb0(%i: index, %j: index, %k: index):
    tensor.yield %edge : f32
  } : tensor<1x8x30xf32> to tensor<1x8x32xf32>
  %empty = tensor.empty() : tensor<1x8x30xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x8x30xf32>) -> tensor<1x8x30xf32>
  %y = linalg.conv_1d_ncw_fcw {strides = dense<1> : tensor<1xi64>, dilations = dense<1> : tensor<1xi64>}
      ins(%padded, %w : tensor<1x8x32xf32>, tensor<8x8x3xf32>) outs(%zeros : tensor<1x8x30xf32>) -> tensor<1x8x30xf32>
  %empty64 = tensor.empty() : tensor<1x8x30xf64>
  %zeros64 = linalg.fill ins(%zero64 : f64) outs(%empty64 : tensor<1x8x30xf64>) -> tensor<1x8x30xf64>
  %y64 = linalg.conv_1d_ncw_fcw {strides = dense<1> : tensor<1xi64>, dilations = dense<1> : tensor<1xi64>}
      ins(%x64, %w64 : tensor<1x8x32xf64>, tensor<8x8x3xf64>) outs(%zeros64 : tensor<1x8x30xf64>) -> tensor<1x8x30xf64>
  %to = tensor.empty() : tensor<1x1x3xf32>
  %small = linalg.fill ins(%zero : f32) outs(%to : tensor<1x1x3xf32>) -> tensor<1x1x3xf32>
  %t = linalg.conv_1d_ncw_fcw {strides = dense<1> : tensor<1xi64>, dilations = dense<1> : tensor<1xi64>}
      ins(%tiny, %one : tensor<1x1x4xf32>, tensor<1x1x2xf32>) outs(%small : tensor<1x1x3xf32>) -> tensor<1x1x3xf32>
  return %y, %y64, %t : tensor<1x8x30xf32>, tensor<1x8x30xf64>, tensor<1x1x3xf32>
}

// -----

#image = affine_map<(n, f, x, c, t) -> (n, c, x + t + 1)>
#far = affine_map<(n, f, x, c, t) -> (n, c, x * 2 + t + 3)>
#kernel = affine_map<(n, f, x, c, t) -> (c, f, t)>
#out = affine_map<(n, f, x, c, t) -> (n, f, x)>

// Windows that begin behind the first element, as those of a phase of a transposed convolution: fewer of the zeros in front are read, or less of the image.
// CHECK-LABEL: func.func @offsets
// CHECK-SAME: (%[[X:[^:]*]]: {{.*}}, %[[W:[^:]*]]: {{.*}})
// CHECK: rt.convolve ins(%[[X]], %[[W]] {{.*}}) outs({{.*}} : tensor<1x8x16xf32>)
// CHECK-SAME: windows [#rt.window<image 2 kernel 2 out 2 stride 1 dilation 1 low 1>]
// CHECK: %[[PART:.*]] = tensor.extract_slice %[[X]][0, 0, 1] [1, 32, 15] [1, 1, 1]
// CHECK: rt.convolve ins(%[[PART]], %[[W]] {{.*}}) outs({{.*}} : tensor<1x8x6xf32>)
// CHECK-SAME: windows [#rt.window<image 2 kernel 2 out 2 stride 2 dilation 1 low 0>]
func.func @offsets(%x: tensor<1x32x16xf32>, %w: tensor<32x8x4xf32>) -> (tensor<1x8x16xf32>, tensor<1x8x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %padded = tensor.pad %x low[0, 0, 2] high[0, 0, 2] {
  ^bb0(%i: index, %j: index, %k: index):
    tensor.yield %zero : f32
  } : tensor<1x32x16xf32> to tensor<1x32x20xf32>
  %empty = tensor.empty() : tensor<1x8x16xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x8x16xf32>) -> tensor<1x8x16xf32>
  %y = linalg.generic {indexing_maps = [#image, #kernel, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%padded, %w : tensor<1x32x20xf32>, tensor<32x8x4xf32>) outs(%zeros : tensor<1x8x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<1x8x16xf32>
  %empty2 = tensor.empty() : tensor<1x8x6xf32>
  %zeros2 = linalg.fill ins(%zero : f32) outs(%empty2 : tensor<1x8x6xf32>) -> tensor<1x8x6xf32>
  %z = linalg.generic {indexing_maps = [#far, #kernel, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%padded, %w : tensor<1x32x20xf32>, tensor<32x8x4xf32>) outs(%zeros2 : tensor<1x8x6xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<1x8x6xf32>
  return %y, %z : tensor<1x8x16xf32>, tensor<1x8x6xf32>
}

// -----

#map = affine_map<(n, c, x) -> (n, c, x)>

// Bounds of the result, a NaN staying one, are the call's, and are applied behind the bias.
// CHECK-LABEL: func.func @bounds
// CHECK: rt.convolve {{.*}} bias(%arg2 : tensor<8xf32>) {{.*}} clamp [0.000000e+00, 6.000000e+00]
// CHECK-NOT: linalg.generic
// What is added to a result with bounds is added behind them.
// CHECK: rt.convolve {{.*}} outs({{.*}} clamp [0.000000e+00, 0x7F800000]
// CHECK: arith.addf
// NaN becoming the bound is another operation; so is a bound of -0. A sum is added up and bounded in place.
// CHECK: rt.convolve
// CHECK-NOT: clamp
// CHECK: arith.maxnumf
// CHECK: rt.convolve
// CHECK-NOT: clamp
// CHECK: arith.maximumf
// CHECK: rt.convolve {{.*}} accumulate clamp [0.000000e+00, 0x7F800000]
// CHECK-NOT: arith.maximumf
func.func @bounds(%x: tensor<1x8x40xf32>, %w: tensor<8x8x1xf32>, %b: tensor<8xf32>)
    -> (tensor<1x8x40xf32>, tensor<1x8x40xf32>, tensor<1x8x40xf32>, tensor<1x8x40xf32>, tensor<1x8x40xf32>) {
  %zero = arith.constant 0.0 : f32
  %minus_zero = arith.constant -0.0 : f32
  %six = arith.constant 6.0 : f32
  %empty = tensor.empty() : tensor<1x8x40xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x8x40xf32>) -> tensor<1x8x40xf32>
  %shaped = tensor.expand_shape %b [[0, 1, 2]] output_shape [1, 8, 1] : tensor<8xf32> into tensor<1x8x1xf32>
  %y1 = linalg.conv_1d_ncw_fcw {strides = dense<1> : tensor<1xi64>, dilations = dense<1> : tensor<1xi64>}
      ins(%x, %w : tensor<1x8x40xf32>, tensor<8x8x1xf32>) outs(%zeros : tensor<1x8x40xf32>) -> tensor<1x8x40xf32>
  %biased = linalg.generic {indexing_maps = [#map, affine_map<(n, c, x) -> (0, c, 0)>, #map], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%y1, %shaped : tensor<1x8x40xf32>, tensor<1x8x1xf32>) outs(%empty : tensor<1x8x40xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %s = arith.addf %a, %c : f32
    linalg.yield %s : f32
  } -> tensor<1x8x40xf32>
  %r1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%biased : tensor<1x8x40xf32>) outs(%empty : tensor<1x8x40xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.maximumf %zero, %a : f32
    %n = arith.minimumf %m, %six : f32
    linalg.yield %n : f32
  } -> tensor<1x8x40xf32>
  %r = linalg.exp ins(%r1 : tensor<1x8x40xf32>) outs(%empty : tensor<1x8x40xf32>) -> tensor<1x8x40xf32>
  %y2 = linalg.conv_1d_ncw_fcw {strides = dense<1> : tensor<1xi64>, dilations = dense<1> : tensor<1xi64>}
      ins(%x, %w : tensor<1x8x40xf32>, tensor<8x8x1xf32>) outs(%zeros : tensor<1x8x40xf32>) -> tensor<1x8x40xf32>
  %r2 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%y2 : tensor<1x8x40xf32>) outs(%empty : tensor<1x8x40xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.maximumf %a, %zero : f32
    linalg.yield %m : f32
  } -> tensor<1x8x40xf32>
  %s2 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%r2, %r : tensor<1x8x40xf32>, tensor<1x8x40xf32>) outs(%empty : tensor<1x8x40xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %s = arith.addf %a, %c : f32
    linalg.yield %s : f32
  } -> tensor<1x8x40xf32>
  %y3 = linalg.conv_1d_ncw_fcw {strides = dense<1> : tensor<1xi64>, dilations = dense<1> : tensor<1xi64>}
      ins(%x, %w : tensor<1x8x40xf32>, tensor<8x8x1xf32>) outs(%zeros : tensor<1x8x40xf32>) -> tensor<1x8x40xf32>
  %r3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%y3 : tensor<1x8x40xf32>) outs(%empty : tensor<1x8x40xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.maxnumf %a, %zero : f32
    linalg.yield %m : f32
  } -> tensor<1x8x40xf32>
  %y4 = linalg.conv_1d_ncw_fcw {strides = dense<1> : tensor<1xi64>, dilations = dense<1> : tensor<1xi64>}
      ins(%x, %w : tensor<1x8x40xf32>, tensor<8x8x1xf32>) outs(%zeros : tensor<1x8x40xf32>) -> tensor<1x8x40xf32>
  %r4 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%y4 : tensor<1x8x40xf32>) outs(%empty : tensor<1x8x40xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.maximumf %a, %minus_zero : f32
    linalg.yield %m : f32
  } -> tensor<1x8x40xf32>
  %e = linalg.exp ins(%x : tensor<1x8x40xf32>) outs(%empty : tensor<1x8x40xf32>) -> tensor<1x8x40xf32>
  %y5 = linalg.conv_1d_ncw_fcw {strides = dense<1> : tensor<1xi64>, dilations = dense<1> : tensor<1xi64>}
      ins(%x, %w : tensor<1x8x40xf32>, tensor<8x8x1xf32>) outs(%zeros : tensor<1x8x40xf32>) -> tensor<1x8x40xf32>
  %s5 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%y5, %e : tensor<1x8x40xf32>, tensor<1x8x40xf32>) outs(%empty : tensor<1x8x40xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %s = arith.addf %a, %c : f32
    linalg.yield %s : f32
  } -> tensor<1x8x40xf32>
  %r5 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s5 : tensor<1x8x40xf32>) outs(%empty : tensor<1x8x40xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.maximumf %a, %zero : f32
    linalg.yield %m : f32
  } -> tensor<1x8x40xf32>
  return %r1, %s2, %r3, %r4, %r5 : tensor<1x8x40xf32>, tensor<1x8x40xf32>, tensor<1x8x40xf32>, tensor<1x8x40xf32>, tensor<1x8x40xf32>
}
