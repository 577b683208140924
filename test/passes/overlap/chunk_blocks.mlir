// dist.overlap "…" chunks 3 of a product that makes queries, keys and values side by side, and of the all_to_all that gives
// each rank its heads of all three: one each, so that what is made first travels while the others are computed.
// RUN: split-file %s %t
// RUN: dist-opt %t/model.mlir --dist-apply-schedule="file=%t/three.mlir report=false" --dist-spmd --dist-chunk-collectives | FileCheck %s --check-prefix=THREE
// RUN: dist-run %t/model.mlir --schedule %t/three.mlir --random --overlap=auto --machine cpu --streams late --verify=f64 %{opt} --rtol 1e-12 --atol 1e-12 | FileCheck %s --check-prefix=EQUAL
// RUN: sed 's/"sp" = 2/"sp" = 4/' %t/three.mlir > %t/four.mlir
// RUN: dist-run %t/model.mlir --schedule %t/four.mlir --random --overlap=auto --machine cpu --streams seed=2 --verify=f64 %{opt} --rtol 1e-12 --atol 1e-12 | FileCheck %s --check-prefix=EQUAL
// RUN: not dist-opt %t/model.mlir --dist-apply-schedule="file=%t/two.mlir report=false" --dist-spmd --dist-chunk-collectives 2>&1 | FileCheck %s --check-prefix=TWO
// EQUAL: y: equal to the program on one rank
// EQUAL: z: equal to the program on one rank

// A block of columns each, biases and all; what reads one takes it as it comes, what reads parts of two or all of them
// gets them put together.
// THREE-COUNT-3: linalg.contract {{.*}} -> tensor<1x4x12xf32>
// THREE-COUNT-3: tensor.expand_shape {{.*}} output_shape [1, 4, 1, 12]
// THREE-COUNT-3: dist.all_to_all {{.*}} : tensor<1x4x1x12xf32> -> tensor<1x8x1x6xf32>
// THREE:         tensor.concat dim(2) {{.*}} -> tensor<1x8x3x6xf32>
// THREE-NOT:     dist.all_to_all

// Two do not divide three blocks.
// TWO: two.mlir:5:3: error: dist.overlap: module "qkv" has no collective that can be done in so many chunks

//--- model.mlir
#x = affine_map<(b, s, n, k) -> (b, s, k)>
#w = affine_map<(b, s, n, k) -> (n, k)>
#y = affine_map<(b, s, n, k) -> (b, s, n)>
#all = affine_map<(b, s, n) -> (b, s, n)>
#bias = affine_map<(b, s, n) -> (n)>
func.func @main(%x: tensor<1x8x12xf32> {dist.input = "x"}, %w: tensor<36x12xf32> {dist.input = "w"}, %b: tensor<36xf32> {dist.input = "b"}) -> (tensor<1x8x12xf32> {dist.output = "y"}, tensor<1x8x36xf32> {dist.output = "z"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x8x36xf32>
  %f = linalg.fill {dist.scope = "qkv"} ins(%zero : f32) outs(%e : tensor<1x8x36xf32>) -> tensor<1x8x36xf32>
  %p = linalg.contract indexing_maps = [#x, #w, #y] {dist.scope = "qkv"} ins(%x, %w : tensor<1x8x12xf32>, tensor<36x12xf32>) outs(%f : tensor<1x8x36xf32>) -> tensor<1x8x36xf32>
  %qkv = linalg.generic {indexing_maps = [#all, #bias, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%p, %b : tensor<1x8x36xf32>, tensor<36xf32>) outs(%e : tensor<1x8x36xf32>) attrs = {dist.scope = "qkv"} {
  ^bb0(%u: f32, %v: f32, %o: f32):
    %s = arith.addf %u, %v : f32
    linalg.yield %s : f32
  } -> tensor<1x8x36xf32>
  %q = tensor.extract_slice %qkv[0, 0, 0] [1, 8, 12] [1, 1, 1] : tensor<1x8x36xf32> to tensor<1x8x12xf32>
  %k = tensor.extract_slice %qkv[0, 0, 12] [1, 8, 12] [1, 1, 1] : tensor<1x8x36xf32> to tensor<1x8x12xf32>
  %v = tensor.extract_slice %qkv[0, 0, 24] [1, 8, 12] [1, 1, 1] : tensor<1x8x36xf32> to tensor<1x8x12xf32>
  %qk = arith.mulf %q, %k : tensor<1x8x12xf32>
  %r = arith.addf %qk, %v : tensor<1x8x12xf32>
  %z = math.tanh %qkv : tensor<1x8x36xf32>
  return %r, %z : tensor<1x8x12xf32>, tensor<1x8x36xf32>
}
//--- three.mlir
dist.mesh @m ["sp" = 2]
dist.schedule @s on @m {
  dist.shard input "x" [{}, {"sp"}, {}]
  dist.sync "qkv" fwd_post all_to_all dim 1 to 2 over "sp" groups 3
  dist.overlap "qkv" chunks 3
}
//--- two.mlir
dist.mesh @m ["sp" = 2]
dist.schedule @s on @m {
  dist.shard input "x" [{}, {"sp"}, {}]
  dist.sync "qkv" fwd_post all_to_all dim 1 to 2 over "sp" groups 3
  dist.overlap "qkv" chunks 2
}
