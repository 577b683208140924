// Parts of constants become arguments after the others; equal ones are one, in loops too. Whole constants stay.
//
// RUN: dist-opt %s --dist-lower-constants | FileCheck %s
// RUN: dist-opt %s --dist-lower-cpu | FileCheck %s --check-prefix=LLVM

// CHECK: module attributes {rt.constants = [
// CHECK-SAME: {dist.sharding = #dist.sharding<@m, [{"x"}]>, local_type = tensor<2xf32>, value = dense<[1.0{{.*}}]> : tensor<5xf32>},
// CHECK-SAME: {dist.sharding = #dist.sharding<@m, [{"x"}]>, local_type = tensor<2xi1>, value = dense_resource<flags> : tensor<5xi1>}]}
// CHECK: func.func @main(%[[X:[a-z0-9]+]]: tensor<2xf32> {dist.input = "x"}, %[[C:[a-z0-9]+]]: tensor<2xf32>, %[[F:[a-z0-9]+]]: tensor<2xi1>)
// CHECK-NEXT: %[[WHOLE:.*]] = arith.constant dense<[true, false, false, true, true]> : tensor<5xi1>
// CHECK-NOT: dist.local_constant
// CHECK: scf.for
// CHECK-NEXT: arith.addf %{{.*}}, %[[C]]
// CHECK: arith.mulf %{{.*}}, %[[C]]
// CHECK-NEXT: return %{{.*}}, %[[F]], %[[WHOLE]]

// Only the whole constant is in the program.
// LLVM: llvm.mlir.global private constant {{.*}} : tensor<5xi1>
// LLVM-NOT: llvm.mlir.global

dist.mesh @m ["x" = 3]
func.func @main(%x: tensor<2xf32> {dist.input = "x"}) -> (tensor<2xf32>, tensor<2xi1>, tensor<5xi1>) {
  %whole = arith.constant dense_resource<flags> : tensor<5xi1>
  %lo = arith.constant 0 : index
  %hi = arith.constant 3 : index
  %step = arith.constant 1 : index
  %0 = scf.for %i = %lo to %hi step %step iter_args(%a = %x) -> tensor<2xf32> {
    %c = dist.local_constant dense<[1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<5xf32> <@m, [{"x"}]> -> tensor<2xf32>
    %1 = arith.addf %a, %c : tensor<2xf32>
    scf.yield %1 : tensor<2xf32>
  }
  %c = dist.local_constant dense<[1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<5xf32> <@m, [{"x"}]> -> tensor<2xf32>
  %2 = arith.mulf %0, %c : tensor<2xf32>
  %f = dist.local_constant dense_resource<flags> : tensor<5xi1> <@m, [{"x"}]> -> tensor<2xi1>
  return %2, %f, %whole : tensor<2xf32>, tensor<2xi1>, tensor<5xi1>
}

{-#
  dialect_resources: {
    builtin: {
      flags: "0x010000000100000101"
    }
  }
#-}
