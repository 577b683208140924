// RUN: dist-run %s --verify %{opt} --input arg0=random:1 | FileCheck %s
// CHECK-COUNT-5: equal to the program on one rank
// CHECK: 8 ranks

// Minimum, maximum, argmax and pooling where devices have nothing (DTensor hangs).
dist.mesh @m ["x" = 8]
func.func @main(%a: tensor<3x2xf64> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>}) -> (tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xi64>, tensor<2x2xf64>) {
  %lo = arith.constant 0xFFF0000000000000 : f64
  %hi = arith.constant 0x7FF0000000000000 : f64
  %e = tensor.empty() : tensor<2xf64>
  %fl = linalg.fill ins(%lo : f64) outs(%e : tensor<2xf64>) -> tensor<2xf64>
  %fh = linalg.fill ins(%hi : f64) outs(%e : tensor<2xf64>) -> tensor<2xf64>
  %i = arith.constant dense<0> : tensor<2xi64>
  %max = linalg.reduce { arith.maximumf } ins(%a : tensor<3x2xf64>) outs(%fl : tensor<2xf64>) dimensions = [0]
  %min = linalg.reduce { arith.minimumf } ins(%a : tensor<3x2xf64>) outs(%fh : tensor<2xf64>) dimensions = [0]
  %arg:2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]}
      ins(%a : tensor<3x2xf64>) outs(%fl, %i : tensor<2xf64>, tensor<2xi64>) {
  ^bb0(%x: f64, %b: f64, %n: i64):
    %k = linalg.index 0 : index
    %h = arith.index_cast %k : index to i64
    %q = arith.cmpf ogt, %x, %b : f64
    %s = arith.select %q, %x, %b : f64
    %t = arith.select %q, %h, %n : i64
    linalg.yield %s, %t : f64, i64
  } -> (tensor<2xf64>, tensor<2xi64>)
  %w = tensor.empty() : tensor<2xf64>
  %e2 = tensor.empty() : tensor<2x2xf64>
  %f2 = linalg.fill ins(%lo : f64) outs(%e2 : tensor<2x2xf64>) -> tensor<2x2xf64>
  %pool = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i + k, j)>, affine_map<(i, j, k) -> (k)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %w : tensor<3x2xf64>, tensor<2xf64>) outs(%f2 : tensor<2x2xf64>) {
  ^bb0(%x: f64, %u: f64, %s: f64):
    %t = arith.maximumf %x, %s : f64
    linalg.yield %t : f64
  } -> tensor<2x2xf64>
  return %max, %min, %arg#0, %arg#1, %pool : tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xi64>, tensor<2x2xf64>
}
