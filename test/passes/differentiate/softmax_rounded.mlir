// A row in which all is masked is NaN after the softmax, and what takes zero instead may look at the weights once they are
// rounded to bf16, and widened again: no NaN comes back through such a row.
//
// RUN: dist-opt %s '--dist-differentiate=cotangent=dy wrt=x' -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// CHECK: %[[LESS:.*]] = arith.subf
// CHECK-NEXT: %[[PRODUCT:.*]] = arith.mulf %{{.*}}, %[[LESS]]
// CHECK-NEXT: %[[NAN:.*]] = arith.cmpf uno
// CHECK-NEXT: arith.select %[[NAN]], %{{.*}}, %[[PRODUCT]]
// RUN: dist-run %t.mlir --random --verify %{opt} | FileCheck %s --check-prefix=EQUAL
// EQUAL: y: equal to the program on one rank (
// EQUAL: x.grad: equal to the program on one rank (

#all = affine_map<(i, j) -> (i, j)>

func.func @main(%x: tensor<4x8xf32> {dist.input = "x"}) -> (tensor<4x8xbf16> {dist.output = "y"}) {
  %lowest = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : bf16
  %e = tensor.empty() : tensor<4x8xf32>
  %n = tensor.empty() : tensor<4x8xbf16>
  %masked = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %i = linalg.index 0 : index
    %two = arith.constant 2 : index
    %none = arith.cmpi eq, %i, %two : index
    %m = arith.select %none, %lowest, %a : f32
    linalg.yield %m : f32
  } -> tensor<4x8xf32>
  %s = linalg.softmax dimension(1) ins(%masked : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %rounded = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<4x8xf32>) outs(%n : tensor<4x8xbf16>) {
  ^bb0(%a: f32, %o: bf16):
    %r = arith.truncf %a : f32 to bf16
    linalg.yield %r : bf16
  } -> tensor<4x8xbf16>
  %y = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%rounded : tensor<4x8xbf16>) outs(%n : tensor<4x8xbf16>) {
  ^bb0(%a: bf16, %o: bf16):
    %nan = arith.cmpf uno, %a, %a : bf16
    %r = arith.select %nan, %zero, %a : bf16
    linalg.yield %r : bf16
  } -> tensor<4x8xbf16>
  return %y : tensor<4x8xbf16>
}
