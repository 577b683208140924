// What is read along another dimension than it is written along goes by tiles through shared memory: both sides touch
// only the sectors of what they use. Neighbours are one thread's where all of them are written side by side.
// RUN: dist-opt %s --dist-lower-cuda | FileCheck %s
// RUN: dist-compile %s --target cuda --dump-ptx %t.ptx -o %t.dist
// RUN: FileCheck %s --check-prefix=PTX --input-file %t.ptx
// RUN: env DIST_EMULATED_COUNTS=1 dist-run %s --backend cuda --driver emulated --random=1 --verify 2>&1 | FileCheck %s --check-prefix=COUNTS --implicit-check-not='emulated GPU: kernel kernel'
// RUN: dist-run %s --backend cuda --driver emulated:7 --random=1 --verify 2>&1 | FileCheck %s --check-prefix=EQUAL --implicit-check-not='emulated GPU'

// A tile of 32 rows, each one element longer.
// CHECK-DAG: llvm.mlir.global private @kernel_0_shared_0() {addr_space = 3 : i32{{.*}} : !llvm.array<1056 x f32>
// PTX: .entry kernel_0
// PTX: bar.sync
// 8 elements of bf16 at once.
// PTX: .entry kernel_1
// PTX: ld.global{{.*}}.v4.b32
// PTX: st.global{{.*}}.v4.b32
// EQUAL: y: equal to the program on one rank
// EQUAL: z: equal to the program on one rank
// COUNTS: kernel_0: {{.*}} 1.{{[01].}} sectors, 1.00 cycles
// COUNTS: kernel_1: {{.*}} 1.00 sectors

func.func @main(%x: tensor<3x70x100xf32> {dist.input = "x"}, %b: tensor<70xf32> {dist.input = "b"},
                %a: tensor<64x64xbf16> {dist.input = "a"}) -> (tensor<3x100x70xf32> {dist.output = "y"},
                                                               tensor<64x64xbf16> {dist.output = "z"}) {
  %e = tensor.empty() : tensor<3x100x70xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d, i, j) -> (d, j, i)>, affine_map<(d, i, j) -> (j)>,
                                        affine_map<(d, i, j) -> (d, i, j)>],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %b : tensor<3x70x100xf32>, tensor<70xf32>) outs(%e : tensor<3x100x70xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<3x100x70xf32>
  %f = tensor.empty() : tensor<64x64xbf16>
  %z = linalg.add ins(%a, %a : tensor<64x64xbf16>, tensor<64x64xbf16>) outs(%f : tensor<64x64xbf16>) -> tensor<64x64xbf16>
  return %y, %z : tensor<3x100x70xf32>, tensor<64x64xbf16>
}
