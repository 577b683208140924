// Parts of constants of types that files of data have no name for, uneven.
// RUN: dist-run %s --verify %{opt} --input x=random:1 --input y=random:2 | FileCheck %s
// RUN: dist-run %s --verify %{opt} --mesh x=2 --input x=random:1 --input y=random:2 | FileCheck %s
// RUN: dist-compile %s -o %t.dist
// RUN: python3 %S/Inputs/list_constants.py %t.dist | FileCheck %s --check-prefix=FILE

// CHECK: i4: equal to the program on one rank (largest difference 0
// CHECK: i24: equal to the program on one rank (largest difference 0
// CHECK: index: equal to the program on one rank (largest difference 0

// FILE: constant0 i8 [7], a rank has [3]
// FILE-NEXT: argument 3: constant1 i32 [7], a rank has [3]
// FILE-NEXT: argument 4: constant2 i64 [7], a rank has [3]

dist.mesh @m ["x" = 3]
func.func @main(%x: tensor<7xi32> {dist.input = "x", dist.sharding = #dist.sharding<@m, [{"x"}]>},
                %y: tensor<7xi64> {dist.input = "y", dist.sharding = #dist.sharding<@m, [{"x"}]>})
    -> (tensor<7xi32> {dist.output = "i4"}, tensor<7xi32> {dist.output = "i24"}, tensor<7xi64> {dist.output = "index"}) {
  %0 = arith.constant dense<[1, -2, 3, 4, -5, 6, 7]> : tensor<7xi4>
  %1 = arith.extsi %0 : tensor<7xi4> to tensor<7xi32>
  %2 = arith.muli %x, %1 : tensor<7xi32>
  %3 = arith.constant dense<[1, -2, 300000, 4, -500000, 6, 7]> : tensor<7xi24>
  %4 = arith.extsi %3 : tensor<7xi24> to tensor<7xi32>
  %5 = arith.addi %x, %4 : tensor<7xi32>
  %6 = arith.constant dense<[1, 2, 3, 4, 5, 6, 1000000000000]> : tensor<7xindex>
  %7 = arith.index_cast %6 : tensor<7xindex> to tensor<7xi64>
  %8 = arith.subi %y, %7 : tensor<7xi64>
  return %2, %5, %8 : tensor<7xi32>, tensor<7xi32>, tensor<7xi64>
}
