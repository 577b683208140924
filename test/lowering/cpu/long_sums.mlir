// Sums of many f32 terms are made of sums of few, in vectors and one by one: a single sum of these 33,489,407, each 0.7 * 0.7,
// would be off by some thousandths. The right one is 16409808.9.
//
// RUN: dist-run %s --input=x=0.7 --opt-level=3 | FileCheck %s
// RUN: dist-run %s --input=x=0.7 --opt-level=0 | FileCheck %s
// CHECK: y: f32[3]

#x = affine_map<(k, i, j) -> (i, j)>
#s = affine_map<(k, i, j) -> (k)>

func.func @main(%x: tensor<65537x511xf32> {dist.input = "x"}) -> (tensor<3xf32> {dist.output = "y"}) {
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 16408988.4 : f32
  %most = arith.constant 16410629.4 : f32
  %e = tensor.empty() : tensor<3xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<3xf32>) -> tensor<3xf32>
  %y = linalg.generic {indexing_maps = [#x, #s], iterator_types = ["parallel", "reduction", "reduction"]} ins(%x : tensor<65537x511xf32>) outs(%f : tensor<3xf32>) {
  ^bb0(%a: f32, %b: f32):
    %m = arith.mulf %a, %a : f32
    %c = arith.addf %b, %m : f32
    linalg.yield %c : f32
  } -> tensor<3xf32>
  %at = arith.constant 1 : index
  %one = tensor.extract %y[%at] : tensor<3xf32>
  %isMore = arith.cmpf ogt, %one, %least : f32
  %isLess = arith.cmpf olt, %one, %most : f32
  cf.assert %isMore, "the sum is too small"
  cf.assert %isLess, "the sum is too large"
  return %y : tensor<3xf32>
}
