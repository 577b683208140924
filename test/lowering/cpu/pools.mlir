// A maximum under windows goes along the innermost dimension last, in one kernel with rows of its own, and is what the plain
// program makes of NaN, infinities and zeros of both signs, bit by bit (1 / y tells the zeros apart).
//
// RUN: dist-opt %s --dist-split-windows --canonicalize | FileCheck %s --check-prefix=APART
// RUN: dist-compile %s -o %t --statistics | FileCheck %s --check-prefix=KERNELS
// RUN: dist-run %s --random --verify --allow-nonfinite --repeat 3 | FileCheck %s
// APART: arith.maximumf
// APART: tensor.pad {{.*}} low[0, 0, 0, 1] high[0, 0, 0, 2]
// APART: linalg.generic {{.*}}"parallel", "parallel", "parallel", "parallel", "reduction"]
// APART: arith.maximumf
// KERNELS: kernels 1, arena 0 bytes
// CHECK: y: equal to the program on one rank ({{.*}}; NaN or infinite: on the ranks {{[1-9]}}

#same = affine_map<(n, c, h, w) -> (n, c, h, w)>
#in = affine_map<(n, c, h, w, s, t) -> (n, c, h * 2 + s, w + t * 2)>
#window = affine_map<(n, c, h, w, s, t) -> (s, t)>
#out = affine_map<(n, c, h, w, s, t) -> (n, c, h, w)>

func.func @main(%x: tensor<2x16x13x19xf32> {dist.input = "x"}) -> (tensor<2x16x7x18xf32> {dist.output = "y"}) {
  %one = arith.constant 1.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %empty = tensor.empty() : tensor<2x16x13x19xf32>
  // Above 2 NaN, below -1 -inf, and zeros around 0.
  %image = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x : tensor<2x16x13x19xf32>) outs(%empty : tensor<2x16x13x19xf32>) {
  ^bb0(%a: f32, %o: f32):
    %two = arith.constant 2.0 : f32
    %room = arith.subf %two, %a : f32
    %nan = math.sqrt %room : f32
    %is_small = arith.cmpf olt, %a, %two : f32
    %number = arith.select %is_small, %a, %nan : f32
    %low = arith.constant -1.0 : f32
    %is_low = arith.cmpf olt, %number, %low : f32
    %some = arith.select %is_low, %lowest, %number : f32
    %half = arith.constant 0.5 : f32
    %size = math.absf %some : f32
    %is_zero = arith.cmpf olt, %size, %half : f32
    %none = arith.constant 0.0 : f32
    %zero = math.copysign %none, %some : f32
    %result = arith.select %is_zero, %zero, %some : f32
    linalg.yield %result : f32
  } -> tensor<2x16x13x19xf32>
  %padded = tensor.pad %image low[0, 0, 1, 1] high[0, 0, 1, 2] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %lowest : f32
  } : tensor<2x16x13x19xf32> to tensor<2x16x15x22xf32>
  %taps = tensor.empty() : tensor<3x3xf32>
  %pooled = tensor.empty() : tensor<2x16x7x18xf32>
  %start = linalg.fill ins(%lowest : f32) outs(%pooled : tensor<2x16x7x18xf32>) -> tensor<2x16x7x18xf32>
  %maximum = linalg.generic {indexing_maps = [#in, #window, #out], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%padded, %taps : tensor<2x16x15x22xf32>, tensor<3x3xf32>) outs(%start : tensor<2x16x7x18xf32>) {
  ^bb0(%a: f32, %t: f32, %o: f32):
    %m = arith.maximumf %o, %a : f32
    linalg.yield %m : f32
  } -> tensor<2x16x7x18xf32>
  %y = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%maximum : tensor<2x16x7x18xf32>) outs(%pooled : tensor<2x16x7x18xf32>) {
  ^bb0(%a: f32, %o: f32):
    %signed = arith.divf %one, %a : f32
    linalg.yield %signed : f32
  } -> tensor<2x16x7x18xf32>
  return %y : tensor<2x16x7x18xf32>
}
