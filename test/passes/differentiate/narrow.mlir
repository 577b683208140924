// Of numbers narrower than f32 a product's cotangents are products of such numbers, with sums of f32, whatever has widened
// the cotangent; and what is summed up over rows is summed in f32 and rounded once.
//
// RUN: dist-opt %s '--dist-differentiate=cotangent=dy' | FileCheck %s
// CHECK: func.func @main(
// CHECK: linalg.contract
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}} ins(%{{.*}} : tensor<64x32xbf16>) outs(%{{.*}} : tensor<32xf32>)
// CHECK: %[[HALF:.*]] = linalg.generic {{.*}} ins(%{{.*}} : tensor<64x32xbf16>) outs(%{{.*}} : tensor<64x32xbf16>)
// CHECK: arith.mulf %{{.*}}, %{{.*}} : bf16
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[HALF]] : tensor<64x16xbf16>, tensor<64x32xbf16>) outs(%{{.*}} : tensor<32x16xf32>)

#x = affine_map<(i, o, k) -> (i, k)>
#w = affine_map<(i, o, k) -> (o, k)>
#y = affine_map<(i, o, k) -> (i, o)>
#all = affine_map<(i, o) -> (i, o)>
#column = affine_map<(i, o) -> (o)>

func.func @main(%x: tensor<64x16xbf16> {dist.input = "x"}, %w: tensor<32x16xbf16> {dist.parameter = "w"},
    %b: tensor<32xbf16> {dist.parameter = "b"}) -> (tensor<64x32xbf16> {dist.output = "y"}) {
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : bf16
  %e = tensor.empty() : tensor<64x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x32xf32>) -> tensor<64x32xf32>
  %p = linalg.contract indexing_maps = [#x, #w, #y] ins(%x, %w : tensor<64x16xbf16>, tensor<32x16xbf16>)
      outs(%f : tensor<64x32xf32>) -> tensor<64x32xf32>
  %n = tensor.empty() : tensor<64x32xbf16>
  %y = linalg.generic {indexing_maps = [#all, #column, #all], iterator_types = ["parallel", "parallel"]}
      ins(%p, %b : tensor<64x32xf32>, tensor<32xbf16>) outs(%n : tensor<64x32xbf16>) {
  ^bb0(%a: f32, %c: bf16, %o: bf16):
    %r = arith.truncf %a : f32 to bf16
    %h = arith.mulf %r, %half : bf16
    %s = arith.addf %h, %c : bf16
    linalg.yield %s : bf16
  } -> tensor<64x32xbf16>
  return %y : tensor<64x32xbf16>
}
