// All floating-point work in f64, constants included; integers stay.
//
// RUN: dist-opt %s --dist-convert-to-f64 --split-input-file --verify-diagnostics | FileCheck %s

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

// Resources, of which those that are not narrow floats stay what they are.
// CHECK-LABEL: func.func @resources
// CHECK-NEXT: arith.constant dense<[1.000000e+00, 5.000000e-01, -2.000000e+00]> : tensor<3xf64>
// CHECK-NEXT: arith.constant dense_resource<integers> : tensor<2xi16>
func.func @resources() -> (tensor<3xbf16>, tensor<2xi16>) {
  %0 = arith.constant dense_resource<halves> : tensor<3xbf16>
  %1 = arith.constant dense_resource<integers> : tensor<2xi16>
  return %0, %1 : tensor<3xbf16>, tensor<2xi16>
}

// CHECK-LABEL: func.func @parts
// CHECK-NEXT: dist.local_constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf64> <@m, [{"x"}]> -> tensor<1xf64>
dist.mesh @m ["x" = 2]
func.func @parts() -> tensor<1xf32> {
  %0 = dist.local_constant dense<[1.0, 2.0]> : tensor<2xf32> <@m, [{"x"}]> -> tensor<1xf32>
  return %0 : tensor<1xf32>
}

{-#
  dialect_resources: {
    builtin: {
      halves: "0x02000000803F003F00C0",
      integers: "0x0200000001000200"
    }
  }
#-}

// -----

func.func @short() -> tensor<3xf32> {
  // expected-error@below {{holds narrow floats as a resource that has not the size of its type, of type 'tensor<3xf32>', and cannot be converted to f64}}
  %0 = arith.constant dense_resource<short> : tensor<3xf32>
  return %0 : tensor<3xf32>
}

{-#
  dialect_resources: {
    builtin: {
      short: "0x040000000000803F"
    }
  }
#-}
