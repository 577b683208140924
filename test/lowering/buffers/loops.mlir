// What loops carry: swapped, made anew in each iteration, scattered into. Compared with the same written without loops.
//
// RUN: dist-run %s --reference %S/Inputs/loops_unrolled.mlir --input x=random:1 --input y=random:2 --rtol 0 --atol 0
// RUN: dist-opt %s --dist-decompose-ops --dist-bufferize --dist-carry-in-place --canonicalize | FileCheck %s

// No loop hands on a buffer, and none that it allocates is used after it.
// CHECK-LABEL: func.func @main
// CHECK: scf.while (%{{.*}} = %{{.*}}) : (index) -> index {
// CHECK: scf.for
// CHECK-NOT: iter_args
// CHECK: return
func.func @main(%x: tensor<13xf64> {dist.input = "x"}, %y: tensor<13xf64> {dist.input = "y"})
    -> (tensor<13xf64> {dist.output = "a"}, tensor<13xf64> {dist.output = "b"},
        tensor<13xf64> {dist.output = "c"}, tensor<13xf64> {dist.output = "d"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %0:3 = scf.while (%i = %c0, %a = %x, %b = %y) : (index, tensor<13xf64>, tensor<13xf64>) -> (index, tensor<13xf64>, tensor<13xf64>) {
    %more = arith.cmpi slt, %i, %c3 : index
    scf.condition(%more) %i, %a, %b : index, tensor<13xf64>, tensor<13xf64>
  } do {
  ^bb0(%i: index, %a: tensor<13xf64>, %b: tensor<13xf64>):
    %next = arith.addi %i, %c1 : index
    scf.yield %next, %b, %a : index, tensor<13xf64>, tensor<13xf64>
  }
  %1:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x, %b = %y) -> (tensor<13xf64>, tensor<13xf64>) {
    %sum = arith.addf %a, %b : tensor<13xf64>
    scf.yield %sum, %a : tensor<13xf64>, tensor<13xf64>
  }
  %indices = arith.constant dense<[[12], [0]]> : tensor<2x1xindex>
  %two = tensor.extract_slice %1#1[3] [2] [1] : tensor<13xf64> to tensor<2xf64>
  %c = tensor.scatter %two into %1#0[%indices] scatter_dims([0]) unique : (tensor<2xf64>, tensor<13xf64>, tensor<2x1xindex>) -> tensor<13xf64>
  return %0#1, %0#2, %c, %1#1 : tensor<13xf64>, tensor<13xf64>, tensor<13xf64>, tensor<13xf64>
}
