// What has no result ends the run on all ranks with op, place and rank, whether ops are fused or not.
// RUN: rm -rf %t && split-file %s %t && cd %t
// RUN: not dist-run zero.mlir 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not dist-run least.mlir 2>&1 | FileCheck %s --check-prefix=LEAST
// RUN: not dist-run loop.mlir 2>&1 | FileCheck %s --check-prefix=LOOP
// RUN: not dist-run element.mlir 2>&1 | FileCheck %s --check-prefix=ELEMENT
// RUN: dist-run padded.mlir --input x=random:3 --verify | FileCheck %s --check-prefix=PADDED
// RUN: not dist-run table.mlir --input w=random 2>&1 | FileCheck %s --check-prefix=TABLE
// RUN: sed 's/tp" = 2/tp" = 1/' table.mlir > whole.mlir && not dist-run whole.mlir --input w=random 2>&1 | FileCheck %s --check-prefix=WHOLE

//--- zero.mlir
dist.mesh @m ["x" = 2]
// ZERO: rank 1 (x=1): zero.mlir:8:8: arith.remui divides by zero
func.func @main() -> (tensor<2xi32> {dist.output = "y", dist.sharding = #dist.sharding<@m, [{"x"}]>}) {
  %a = arith.constant dense<7> : tensor<2xi32>
  %b = arith.constant dense<[1, 0]> : tensor<2xi32>
  %c = dist.sharding_constraint %b <@m, [{"x"}]> : tensor<2xi32>
  // Nobody knows at compile time.
  %0 = arith.remui %a, %c : tensor<2xi32>
  return %0 : tensor<2xi32>
}
//--- least.mlir
// LEAST: rank 0{{.*}}least.mlir:5:8: arith.divsi divides the smallest integer by -1, which overflows
func.func @main() -> tensor<2xi64> {
  %a = arith.constant dense<[1, -9223372036854775808]> : tensor<2xi64>
  %b = arith.constant dense<[1, -1]> : tensor<2xi64>
  %0 = arith.divsi %a, %b : tensor<2xi64>
  return %0 : tensor<2xi64>
}
//--- loop.mlir
// LOOP: loop.mlir:{{[0-9]+}}:{{[0-9]+}}: arith.divui divides by zero
func.func @main() -> tensor<i32> {
  %x = arith.constant dense<5> : tensor<i32>
  %zero = arith.constant 0 : i32
  %r = scf.while (%t = %x) : (tensor<i32>) -> tensor<i32> {
    %v = tensor.extract %t[] : tensor<i32>
    %more = arith.cmpi ne, %v, %zero : i32
    scf.condition(%more) %t : tensor<i32>
  } do {
  ^bb0(%t: tensor<i32>):
    %v = tensor.extract %t[] : tensor<i32>
    %less = arith.subi %v, %v : i32
    %q = arith.divui %v, %less : i32
    %n = tensor.from_elements %q : tensor<i32>
    scf.yield %n : tensor<i32>
  }
  return %r : tensor<i32>
}
//--- element.mlir
// ELEMENT: element.mlir:5:8: an index of tensor.extract is out of range: coordinates must be at least 0 and less than [3], not 4000000000
func.func @main() -> tensor<f32> {
  %x = arith.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %i = arith.constant 4000000000 : index
  %v = tensor.extract %x[%i] : tensor<3xf32>
  %0 = tensor.from_elements %v : tensor<f32>
  return %0 : tensor<f32>
}
//--- padded.mlir
// Padding is divided by nobody, and looks nothing up.
// PADDED: q: equal
// PADDED: r: equal
dist.mesh @m ["x" = 2]
func.func @main(%x: tensor<7xi64> {dist.input = "x", dist.sharding = #dist.sharding<@m, [{"x"}]>})
    -> (tensor<7xi64> {dist.output = "q"}, tensor<7xi64> {dist.output = "r"}) {
  %one = arith.constant dense<1> : tensor<7xi64>
  %many = arith.constant dense<100> : tensor<7xi64>
  %table = arith.constant dense<[4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]> : tensor<17xi64>
  %y = arith.ori %x, %one : tensor<7xi64>
  %q = arith.divsi %many, %y : tensor<7xi64>
  %i = arith.addi %x, %one : tensor<7xi64>
  %at = tensor.expand_shape %i [[0, 1]] output_shape [7, 1] : tensor<7xi64> into tensor<7x1xi64>
  %r = tensor.gather %table[%at] gather_dims([0]) : (tensor<17xi64>, tensor<7x1xi64>) -> tensor<7xi64>
  return %q, %r : tensor<7xi64>, tensor<7xi64>
}
//--- table.mlir
// A row that no rank holds is an error of a split table as it is of a whole one, not zero.
// TABLE: rank {{[01]}} (tp={{[01]}}): table.mlir:{{[0-9]+}}:8: an index of the gather is out of range: coordinates must be at least 0 and less than [6], not 6
// WHOLE: whole.mlir:{{[0-9]+}}:8: an index of the gather is out of range: coordinates must be at least 0 and less than [6], not 6
dist.mesh @m ["tp" = 2]
func.func @main(%w: tensor<6x2xf32> {dist.input = "w", dist.sharding = #dist.sharding<@m, [{"tp"}, {}]>})
    -> (tensor<3x2xf32> {dist.output = "y"}) {
  %i = arith.constant dense<[[0], [6], [5]]> : tensor<3x1xi64>
  %0 = tensor.gather %w[%i] gather_dims([0]) : (tensor<6x2xf32>, tensor<3x1xi64>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}
