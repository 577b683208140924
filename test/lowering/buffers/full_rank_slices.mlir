// A slice that keeps one unit dimension and drops another says which, before its offsets are folded.
// RUN: dist-opt %s --dist-full-rank-slices | FileCheck %s
// RUN: dist-run %s --random --verify | FileCheck %s --check-prefix=OUT
// RUN: dist-run %S/Inputs/unclear_steps.mlir --random --verify | FileCheck %s --check-prefix=STEPS
// STEPS: t: equal to the program on one rank (largest difference 0)
// STEPS: u: equal to the program on one rank (largest difference 0)
// OUT: d: equal to the program on one rank (largest difference 0)
// OUT: d: i8[1, 3]

// CHECK: %[[FULL:.*]] = tensor.extract_slice %arg0[%{{.*}}, 3, 0] [1, 3, 1] [1, 1, 1] : tensor<1x7x5xi8> to tensor<1x3x1xi8>
// CHECK-NEXT: tensor.collapse_shape %[[FULL]] {{\[\[}}0], [1, 2]] : tensor<1x3x1xi8> into tensor<1x3xi8>
// What is clear stays: the same elements, read with another offset known.
// CHECK: tensor.extract_slice %arg0[0, 3, 0] [1, 3, 1] [1, 1, 1] : tensor<1x7x5xi8> to tensor<1x3xi8>
// Their difference is 0 where both read the same; the check ends the program where they do not.
func.func @f(%x: tensor<1x7x5xi8> {dist.input = "x"}) -> (tensor<1x3xi8> {dist.output = "d"}) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i8
  %a = tensor.extract_slice %x[%c0, 3, 0] [1, 3, 1] [1, 1, 1] : tensor<1x7x5xi8> to tensor<1x3xi8>
  %b = tensor.extract_slice %x[0, 3, 0] [1, 3, 1] [1, 1, 1] : tensor<1x7x5xi8> to tensor<1x3xi8>
  %d = arith.subi %a, %b : tensor<1x3xi8>
  %i = arith.constant 2 : index
  %one = tensor.extract %d[%c0, %i] : tensor<1x3xi8>
  %same = arith.cmpi eq, %one, %zero : i8
  cf.assert %same, "the slices differ"
  return %d : tensor<1x3xi8>
}
