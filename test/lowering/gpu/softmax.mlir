// One kernel: a warp a row, whose threads make parts of the sum; what is between the ops is shared memory. PTX is
// executed, without a report, and gives what the CPU's plain program gives.
// RUN: dist-opt %s --dist-lower-cuda | FileCheck %s
// RUN: dist-run %s --backend cuda --driver emulated --random=1 --verify 2>&1 | FileCheck %s --check-prefix=EQUAL --implicit-check-not='emulated GPU'

// CHECK: llvm.call @dist_launch
// CHECK-NOT: llvm.call @dist_launch
// CHECK: module @dist_device
// CHECK: llvm.mlir.global private @kernel_0_shared_0() {addr_space = 3 : i32
// CHECK: llvm.func @kernel_0
// CHECK-SAME: nvvm.kernel, nvvm.maxntid = array<i32: 256>, rt.blocks = 1
// CHECK-NOT: nvvm.barrier
// CHECK: nvvm.shfl.sync down
// CHECK: nvvm.bar.warp.sync
// EQUAL: y: equal to the program on one rank

#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>
func.func @main(%x: tensor<8x100xf32> {dist.input = "x"}, %b: tensor<100xf32> {dist.input = "b"}) -> (tensor<8x100xf32> {dist.output = "y"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x100xf32>
  %0 = linalg.generic {indexing_maps = [#all, #column, #all], iterator_types = ["parallel", "parallel"]} ins(%x, %b : tensor<8x100xf32>, tensor<100xf32>) outs(%e : tensor<8x100xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %s = arith.addf %a, %c : f32
    %t = math.exp %s : f32
    linalg.yield %t : f32
  } -> tensor<8x100xf32>
  %r = tensor.empty() : tensor<8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%r : tensor<8xf32>) -> tensor<8xf32>
  %1 = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%0 : tensor<8x100xf32>) outs(%f : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %a, %o : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %2 = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]} ins(%0, %1 : tensor<8x100xf32>, tensor<8xf32>) outs(%e : tensor<8x100xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %s = arith.divf %a, %c : f32
    linalg.yield %s : f32
  } -> tensor<8x100xf32>
  return %2 : tensor<8x100xf32>
}
