// Of rows that ranks do not divide some do not count, under a condition: such sums are sums of few as well, on a rank as on
// one, over rows and over all: else --verify, which knows how far the program on one rank may be off, would say so.
//
// RUN: dist-run %s --input=x=0.49 --verify | FileCheck %s
// CHECK-DAG: y: equal to the program on one rank
// CHECK-DAG: all: equal to the program on one rank
// CHECK-DAG: kept: equal to the program on one rank

dist.mesh @m ["dp" = 3]

func.func @main(%x: tensor<60001x8xf32> {dist.input = "x", dist.sharding = #dist.sharding<@m, [{"dp"}, {}]>})
    -> (tensor<8xf32> {dist.output = "y"}, tensor<f32> {dist.output = "all"}, tensor<8x1xf32> {dist.output = "kept"}) {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<60001x8xf32>) outs(%f : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %b, %a : f32
    linalg.yield %c : f32
  } -> tensor<8xf32>
  %e0 = tensor.empty() : tensor<f32>
  %f0 = linalg.fill ins(%z : f32) outs(%e0 : tensor<f32>) -> tensor<f32>
  %all = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%x : tensor<60001x8xf32>) outs(%f0 : tensor<f32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %b, %a : f32
    linalg.yield %c : f32
  } -> tensor<f32>
  %x1 = tensor.expand_shape %x [[0], [1, 2]] output_shape [60001, 8, 1] : tensor<60001x8xf32> into tensor<60001x8x1xf32>
  %e1 = tensor.empty() : tensor<8x1xf32>
  %f1 = linalg.fill ins(%z : f32) outs(%e1 : tensor<8x1xf32>) -> tensor<8x1xf32>
  %kept = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>], iterator_types = ["reduction", "parallel", "parallel"]} ins(%x1 : tensor<60001x8x1xf32>) outs(%f1 : tensor<8x1xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %b, %a : f32
    linalg.yield %c : f32
  } -> tensor<8x1xf32>
  return %y, %all, %kept : tensor<8xf32>, tensor<f32>, tensor<8x1xf32>
}
