// A softmax, as it is exported, is one kernel. Two runs read the input; the second one reads what the first one kept. So
// the kernel reads 5 x 1,024 elements of f32 once, and writes as many.
// RUN: env DIST_EMULATED_COUNTS=1 dist-run %s --backend cuda --driver emulated --random=1 --verify 2>&1 | FileCheck %s --implicit-check-not='emulated GPU: kernel kernel'
// RUN: dist-run %s --backend cuda --driver emulated:reverse --random=1 --verify 2>&1 | FileCheck %s --check-prefix=EQUAL --implicit-check-not='emulated GPU'
// RUN: dist-run %s --backend cuda --driver emulated:7 --random=1 --verify 2>&1 | FileCheck %s --check-prefix=EQUAL --implicit-check-not='emulated GPU'

// CHECK: emulated GPU: kernel_0: 5 blocks, {{.*}} 20480 bytes read, 20480 written, 1.00 sectors, 1.00 cycles
// CHECK: y: equal to the program on one rank
// EQUAL: y: equal to the program on one rank

#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @main(%x: tensor<5x1024xf32> {dist.input = "x"}) -> (tensor<5x1024xf32> {dist.output = "y"}) {
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %rows = tensor.empty() : tensor<5xf32>
  %empty = tensor.empty() : tensor<5x1024xf32>
  %m0 = linalg.fill ins(%least : f32) outs(%rows : tensor<5xf32>) -> tensor<5xf32>
  %m = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<5x1024xf32>) outs(%m0 : tensor<5xf32>) {
  ^bb0(%a: f32, %b: f32):
    %r = arith.maximumf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<5xf32>
  %e = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]} ins(%x, %m : tensor<5x1024xf32>, tensor<5xf32>) outs(%empty : tensor<5x1024xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %d = arith.subf %a, %b : f32
    %r = math.exp %d : f32
    linalg.yield %r : f32
  } -> tensor<5x1024xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%rows : tensor<5xf32>) -> tensor<5xf32>
  %s = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%e : tensor<5x1024xf32>) outs(%s0 : tensor<5xf32>) {
  ^bb0(%a: f32, %b: f32):
    %r = arith.addf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<5xf32>
  %y = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]} ins(%e, %s : tensor<5x1024xf32>, tensor<5xf32>) outs(%empty : tensor<5x1024xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.divf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<5x1024xf32>
  return %y : tensor<5x1024xf32>
}
