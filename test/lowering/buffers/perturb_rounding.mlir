// Random rounding errors, for the program that others are compared with: they
// are off at first, leave exact operations alone, and are other ones each time.
//
// RUN: dist-opt %s '--dist-lower-cpu=plain=true perturb=true' --mlir-print-ir-after=dist-perturb-rounding -o /dev/null 2>&1 | FileCheck %s
// RUN: dist-run %s --verify --random | FileCheck %s --check-prefix=SAME
// RUN: dist-run %s --verify --input x=2 --input y=3 --input h=2 --input b=3 --input d=3 | FileCheck %s --check-prefix=EXACT

// CHECK-DAG: memref.global @dist_perturbation_counter : memref<i64> = dense<0>
// CHECK-DAG: memref.global @dist_perturbation_amplitude : memref<f64> = dense<0.000000e+00>
// A maximum is exact; a sum is rounded once, from f64.
// CHECK: arith.maximumf %{{.*}} : f32
// CHECK-NEXT: memref.store
// CHECK: %[[SUM:.*]] = arith.addf %{{.*}} : f64
// CHECK: %[[NEAR:.*]] = arith.truncf %[[SUM]] : f64 to f32
// CHECK: arith.extf %[[NEAR]] : f32 to f64
// CHECK: arith.cmpf une
// CHECK: arith.select %{{.*}} : f64
// CHECK: arith.truncf %{{.*}} : f64 to f32

// Rounding decides nothing of single operations.
// SAME: max: equal to the program on one rank (largest difference 0)
// SAME: sum: equal to the program on one rank (largest difference 0)
// SAME: half: equal to the program on one rank (largest difference 0)
// SAME: brain: equal to the program on one rank (largest difference 0)
// SAME: double: equal to the program on one rank (largest difference 0)
// SAME: digits: equal to the program on one rank (largest difference 0

// Of exact numbers rounding decides nothing.
// EXACT: digits: equal to the program on one rank (largest difference 0)

func.func @main(%x: tensor<64xf32> {dist.input = "x"}, %y: tensor<64xf32> {dist.input = "y"}, %h: tensor<64xf16> {dist.input = "h"},
                %b: tensor<64xbf16> {dist.input = "b"}, %d: tensor<64xf64> {dist.input = "d"})
    -> (tensor<64xf32> {dist.output = "max"}, tensor<64xf32> {dist.output = "sum"}, tensor<64xf16> {dist.output = "half"},
        tensor<64xbf16> {dist.output = "brain"}, tensor<64xf64> {dist.output = "double"}, tensor<64xi64> {dist.output = "digits"}) {
  %max = arith.maximumf %x, %y : tensor<64xf32>
  %sum = arith.addf %x, %y : tensor<64xf32>
  %half = arith.divf %h, %h : tensor<64xf16>
  %brain = arith.mulf %b, %b : tensor<64xbf16>
  %root = math.absf %d : tensor<64xf64>
  %double = math.sqrt %root : tensor<64xf64>
  // The last digits of the sum.
  %scale = arith.constant dense<16777216.0> : tensor<64xf32>
  %scaled = arith.mulf %sum, %scale : tensor<64xf32>
  %digits = arith.fptosi %scaled : tensor<64xf32> to tensor<64xi64>
  return %max, %sum, %half, %brain, %double, %digits : tensor<64xf32>, tensor<64xf32>, tensor<64xf16>, tensor<64xbf16>, tensor<64xf64>, tensor<64xi64>
}
