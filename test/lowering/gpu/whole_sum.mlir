// A long sum of a whole tensor is made by many blocks, of 4,096 terms or fewer each: here 75 of four rows. A second kernel
// adds their parts.
// RUN: env DIST_EMULATED_COUNTS=1 dist-run %s --backend cuda --driver emulated --random=1 --verify 2>&1 | FileCheck %s --implicit-check-not='emulated GPU: kernel kernel'
// RUN: dist-run %s --backend cuda --driver emulated:7 --random=1 --verify 2>&1 | FileCheck %s --check-prefix=EQUAL --implicit-check-not='emulated GPU'

// CHECK: kernel_0: 75 blocks, {{.*}} 1201500 bytes read
// CHECK: kernel_{{[12]}}: 1 blocks, {{.*}} 304 bytes read
// CHECK: y: equal to the program on one rank
// EQUAL: y: equal to the program on one rank

func.func @main(%x: tensor<300x1001xf32> {dist.input = "x"}) -> (tensor<f32> {dist.output = "y"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%x : tensor<300x1001xf32>) outs(%f : tensor<f32>) {
  ^bb0(%a: f32, %b: f32):
    %q = arith.mulf %a, %a : f32
    %r = arith.addf %b, %q : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  return %y : tensor<f32>
}
