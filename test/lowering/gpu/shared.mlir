// All threads read m, one adds to it, all read it again: no load may be carried over a barrier. LLVM does that with what is
// noalias.
// RUN: dist-opt %s --dist-lower-cuda | FileCheck %s
// RUN: dist-run %s --backend cuda --driver emulated --random=1 --verify 2>&1 | FileCheck %s --check-prefix=EQUAL --implicit-check-not='emulated GPU'
// CHECK: module @dist_device
// CHECK: llvm.func @kernel_0({{.*}}llvm.noalias, llvm.readonly
// CHECK-NOT: %{{.*}}llvm.noalias}
// EQUAL: y: equal to the program on one rank
// EQUAL: m2: equal to the program on one rank
#r = affine_map<(i, j) -> (i, j)>
#o = affine_map<(i, j) -> (i)>
func.func @main(%x: tensor<8x512xf32> {dist.input = "x"}, %m: tensor<8xf32> {dist.input = "m"})
    -> (tensor<8x512xf32> {dist.output = "y"}, tensor<8xf32> {dist.output = "m2", dist.updates = 1 : i64}) {
  %e = tensor.empty() : tensor<8x512xf32>
  %t = linalg.generic {indexing_maps = [#r, #o, #r], iterator_types = ["parallel", "parallel"]} ins(%x, %m : tensor<8x512xf32>, tensor<8xf32>) outs(%e : tensor<8x512xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    linalg.yield %p : f32
  } -> tensor<8x512xf32>
  %m2 = linalg.generic {indexing_maps = [#r, #o], iterator_types = ["parallel", "reduction"]} ins(%t : tensor<8x512xf32>) outs(%m : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %p = arith.addf %b, %a : f32
    linalg.yield %p : f32
  } -> tensor<8xf32>
  %e2 = tensor.empty() : tensor<8x512xf32>
  %y = linalg.generic {indexing_maps = [#r, #o, #r], iterator_types = ["parallel", "parallel"]} ins(%t, %m2 : tensor<8x512xf32>, tensor<8xf32>) outs(%e2 : tensor<8x512xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.addf %a, %b : f32
    linalg.yield %p : f32
  } -> tensor<8x512xf32>
  return %y, %m2 : tensor<8x512xf32>, tensor<8xf32>
}
