// NaN, infinities and zeros under windows are what the plain program makes of them: a convolution with bounds of its result,
// for which the library makes a bound of a NaN, and a maximum and a sum at the edges of an image.
//
// RUN: dist-opt %s --dist-select-convolutions --dist-split-windows --canonicalize | FileCheck %s --check-prefix=FUSED
// RUN: dist-run %s --random --verify --allow-nonfinite --repeat 3 | FileCheck %s
// FUSED: rt.convolve {{.*}} clamp [0.000000e+00, 0x7F800000]
// FUSED: rt.convolve {{.*}} clamp [0.000000e+00, 6.000000e+00]
// FUSED-NOT: tensor.pad
// CHECK: relu: equal to the program on one rank ({{.*}}; NaN or infinite: on the ranks {{[1-9]}}
// CHECK: relu6: equal to the program on one rank ({{.*}}; NaN or infinite: on the ranks {{[1-9]}}
// CHECK: maximum: equal to the program on one rank ({{.*}}; NaN or infinite: on the ranks {{[1-9]}}
// CHECK: sum: equal to the program on one rank ({{.*}}; NaN or infinite: on the ranks {{[1-9]}}

#same = affine_map<(n, c, h, w) -> (n, c, h, w)>
#in = affine_map<(n, c, h, w, s, t) -> (n, c, h * 2 + s, w + t)>
#window = affine_map<(n, c, h, w, s, t) -> (s, t)>
#out = affine_map<(n, c, h, w, s, t) -> (n, c, h, w)>

func.func @main(%x: tensor<1x16x13x19xf32> {dist.input = "x"}, %w: tensor<16x16x3x3xf32> {dist.input = "w"})
    -> (tensor<1x16x13x19xf32> {dist.output = "relu"}, tensor<1x16x13x19xf32> {dist.output = "relu6"},
        tensor<1x16x7x19xf32> {dist.output = "maximum"}, tensor<1x16x7x19xf32> {dist.output = "sum"}) {
  %zero = arith.constant 0.0 : f32
  %six = arith.constant 6.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %limit = arith.constant 2.5 : f32
  %empty = tensor.empty() : tensor<1x16x13x19xf32>
  // Some NaN, -inf and, of what is left, numbers of both signs.
  %image = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x : tensor<1x16x13x19xf32>) outs(%empty : tensor<1x16x13x19xf32>) {
  ^bb0(%a: f32, %o: f32):
    %room = arith.subf %limit, %a : f32
    %nan = math.sqrt %room : f32
    %is_small = arith.cmpf olt, %a, %limit : f32
    %number = arith.select %is_small, %a, %nan : f32
    %low = arith.constant -2.5 : f32
    %is_low = arith.cmpf olt, %number, %low : f32
    %result = arith.select %is_low, %lowest, %number : f32
    linalg.yield %result : f32
  } -> tensor<1x16x13x19xf32>
  %padded = tensor.pad %image low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %zero : f32
  } : tensor<1x16x13x19xf32> to tensor<1x16x15x21xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x16x13x19xf32>) -> tensor<1x16x13x19xf32>
  %y = linalg.conv_2d_nchw_fchw {strides = dense<1> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
      ins(%padded, %w : tensor<1x16x15x21xf32>, tensor<16x16x3x3xf32>) outs(%zeros : tensor<1x16x13x19xf32>) -> tensor<1x16x13x19xf32>
  %relu = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%y : tensor<1x16x13x19xf32>) outs(%empty : tensor<1x16x13x19xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.maximumf %a, %zero : f32
    linalg.yield %m : f32
  } -> tensor<1x16x13x19xf32>
  %z = linalg.conv_2d_nchw_fchw {strides = dense<1> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
      ins(%padded, %w : tensor<1x16x15x21xf32>, tensor<16x16x3x3xf32>) outs(%zeros : tensor<1x16x13x19xf32>) -> tensor<1x16x13x19xf32>
  %relu6 = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%z : tensor<1x16x13x19xf32>) outs(%empty : tensor<1x16x13x19xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.maximumf %a, %zero : f32
    %n = arith.minimumf %m, %six : f32
    linalg.yield %n : f32
  } -> tensor<1x16x13x19xf32>
  %taps = tensor.empty() : tensor<3x3xf32>
  %pooled = tensor.empty() : tensor<1x16x7x19xf32>
  %around = tensor.pad %image low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %lowest : f32
  } : tensor<1x16x13x19xf32> to tensor<1x16x15x21xf32>
  %start = linalg.fill ins(%lowest : f32) outs(%pooled : tensor<1x16x7x19xf32>) -> tensor<1x16x7x19xf32>
  %maximum = linalg.generic {indexing_maps = [#in, #window, #out], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%around, %taps : tensor<1x16x15x21xf32>, tensor<3x3xf32>) outs(%start : tensor<1x16x7x19xf32>) {
  ^bb0(%a: f32, %t: f32, %o: f32):
    %m = arith.maximumf %o, %a : f32
    linalg.yield %m : f32
  } -> tensor<1x16x7x19xf32>
  %nothing = linalg.fill ins(%zero : f32) outs(%pooled : tensor<1x16x7x19xf32>) -> tensor<1x16x7x19xf32>
  %sum = linalg.generic {indexing_maps = [#in, #window, #out], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%padded, %taps : tensor<1x16x15x21xf32>, tensor<3x3xf32>) outs(%nothing : tensor<1x16x7x19xf32>) {
  ^bb0(%a: f32, %t: f32, %o: f32):
    %m = arith.addf %o, %a : f32
    linalg.yield %m : f32
  } -> tensor<1x16x7x19xf32>
  return %relu, %relu6, %maximum, %sum : tensor<1x16x13x19xf32>, tensor<1x16x13x19xf32>, tensor<1x16x7x19xf32>, tensor<1x16x7x19xf32>
}
