// Sums of many f32 terms are made of sums of few, in vectors and one by one: a single sum of these 33,489,407, each 0.7 * 0.7,
// would be off by some thousandths. The right one is 16409808.9.
//
// RUN: dist-run %s --input=x=0.7 --opt-level=3 | FileCheck %s
// RUN: dist-run %s --input=x=0.7 --opt-level=0 | FileCheck %s
// CHECK: y: f32[3]
// CHECK: prefix: f64[100000]

#x = affine_map<(k, i, j) -> (i, j)>
#s = affine_map<(k, i, j) -> (k)>
#two = affine_map<(i, j) -> (i, j)>
#none = affine_map<(i, j) -> ()>
#all = affine_map<(i) -> ()>
#each = affine_map<(i) -> (i)>

func.func @main(%x: tensor<65537x511xf32> {dist.input = "x"})
    -> (tensor<3xf32> {dist.output = "y"}, tensor<100000xf64> {dist.output = "prefix"}) {
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
  // Of 65,000 rows, the others left out under a condition: 16275350.
  %rows = arith.constant 65000 : index
  %g0 = tensor.empty() : tensor<f32>
  %g = linalg.fill ins(%zero : f32) outs(%g0 : tensor<f32>) -> tensor<f32>
  %counted = linalg.generic {indexing_maps = [#two, #none], iterator_types = ["reduction", "reduction"]} ins(%x : tensor<65537x511xf32>) outs(%g : tensor<f32>) {
  ^bb0(%a: f32, %b: f32):
    %i = linalg.index 0 : index
    %counts = arith.cmpi slt, %i, %rows : index
    %m = arith.mulf %a, %a : f32
    %c = arith.addf %b, %m : f32
    %d = arith.select %counts, %c, %b : f32
    linalg.yield %d : f32
  } -> tensor<f32>
  %some = tensor.extract %counted[] : tensor<f32>
  %leastSome = arith.constant 16274536.0 : f32
  %mostSome = arith.constant 16276164.0 : f32
  %isMoreSome = arith.cmpf ogt, %some, %leastSome : f32
  %isLessSome = arith.cmpf olt, %some, %mostSome : f32
  cf.assert %isMoreSome, "the sum under a condition is too small"
  cf.assert %isLessSome, "the sum under a condition is too large"
  // A sum that is read on the way is one sum.
  %one64 = arith.constant 1.0 : f64
  %zero64 = arith.constant 0.0 : f64
  %e1 = tensor.empty() : tensor<f64>
  %f1 = linalg.fill ins(%zero64 : f64) outs(%e1 : tensor<f64>) -> tensor<f64>
  %e2 = tensor.empty() : tensor<100000xf64>
  %ones = linalg.fill ins(%one64 : f64) outs(%e2 : tensor<100000xf64>) -> tensor<100000xf64>
  %sums:2 = linalg.generic {indexing_maps = [#each, #all, #each], iterator_types = ["reduction"]} ins(%ones : tensor<100000xf64>) outs(%f1, %e2 : tensor<f64>, tensor<100000xf64>) {
  ^bb0(%a: f64, %b: f64, %o: f64):
    %c = arith.addf %b, %a : f64
    linalg.yield %c, %c : f64, f64
  } -> (tensor<f64>, tensor<100000xf64>)
  %last = arith.constant 99999 : index
  %whole = tensor.extract %sums#1[%last] : tensor<100000xf64>
  %wanted = arith.constant 100000.0 : f64
  %isWhole = arith.cmpf oeq, %whole, %wanted : f64
  cf.assert %isWhole, "the last prefix is not the whole"
  return %y, %sums#1 : tensor<3xf32>, tensor<100000xf64>
}
