// Roots of -0, 0 and -infinity as powers: IEEE 754-2019, 9.2.1, gives pow(-0, y) = +0 or +infinity for a y that is no
// odd integer, and pow(-infinity, y) = +infinity or +0. (A square root gives -0 and NaN.) The arithmetic of bf16 and
// f16 is f32's.
// RUN: rm -rf %t && mkdir %t
// RUN: sed -e 's/TYPE/f16/g; s/MINUS/0xFC00/g' %s > %t/f16.mlir && dist-run %t/f16.mlir --output %t/f16
// RUN: sed -e 's/TYPE/bf16/g; s/MINUS/0xFF80/g' %s > %t/bf16.mlir && dist-run %t/bf16.mlir --output %t/bf16
// RUN: tail -c 12 %t/f16/y.npy | od -An -v -tx2 -w6 | FileCheck %s --check-prefix=F16
// RUN: tail -c 24 %t/bf16/y.npy | od -An -v -tx4 -w12 | FileCheck %s --check-prefix=BF16

// F16: 0000 0000 7c00
// F16-NEXT: 7c00 7c00 0000
// BF16: 00000000 00000000 7f800000
// BF16-NEXT: 7f800000 7f800000 00000000

#id = affine_map<(i) -> (i)>
func.func @main() -> (tensor<2x3xTYPE> {dist.output = "y"}) {
  %x = arith.constant dense<[-0.0, 0.0, MINUS]> : tensor<3xTYPE>
  %e = tensor.empty() : tensor<3xTYPE>
  %root = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<3xTYPE>) outs(%e : tensor<3xTYPE>) {
  ^bb0(%a: TYPE, %o: TYPE):
    %p = arith.constant 0.5 : TYPE
    %r = math.powf %a, %p : TYPE
    linalg.yield %r : TYPE
  } -> tensor<3xTYPE>
  %inverse = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<3xTYPE>) outs(%e : tensor<3xTYPE>) {
  ^bb0(%a: TYPE, %o: TYPE):
    %p = arith.constant -0.5 : TYPE
    %r = math.powf %a, %p : TYPE
    linalg.yield %r : TYPE
  } -> tensor<3xTYPE>
  %r0 = tensor.expand_shape %root [[0, 1]] output_shape [1, 3] : tensor<3xTYPE> into tensor<1x3xTYPE>
  %r1 = tensor.expand_shape %inverse [[0, 1]] output_shape [1, 3] : tensor<3xTYPE> into tensor<1x3xTYPE>
  %y = tensor.concat dim(0) %r0, %r1 : (tensor<1x3xTYPE>, tensor<1x3xTYPE>) -> tensor<2x3xTYPE>
  return %y : tensor<2x3xTYPE>
}
