// All floating-point work in f64, constants included; integers stay.
//
// RUN: dist-opt %s --dist-convert-to-f64 | FileCheck %s

// CHECK-LABEL: func.func @main(%arg0: tensor<4xf64>, %arg1: tensor<4xi32>) -> tensor<4xf64>
// CHECK: arith.constant 5.000000e-01 : f64
// CHECK-NOT: f32
// CHECK-NOT: extf
// CHECK-NOT: truncf
// CHECK: arith.sitofp {{.*}} : i32 to f64
func.func @main(%x: tensor<4xf32>, %i: tensor<4xi32>) -> tensor<4xf32> {
  %half = arith.constant 0.5 : f32
  %e = tensor.empty() : tensor<4xf32>
  %0 = linalg.generic {
    indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
    iterator_types = ["parallel"]
  } ins(%x, %i : tensor<4xf32>, tensor<4xi32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f32, %n: i32, %out: f32):
    %narrow = arith.truncf %a : f32 to f16
    %wide = arith.extf %narrow : f16 to f32
    %m = arith.sitofp %n : i32 to f32
    %product = arith.mulf %wide, %m : f32
    %sum = arith.addf %product, %half : f32
    linalg.yield %sum : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
