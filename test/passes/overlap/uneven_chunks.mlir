// Chunks of unequal size whose rows are merged with others stay whole for who reads these; what is done is not done again.
// RUN: dist-opt %s --dist-chunk-collectives --dist-verify-spmd | FileCheck %s
// RUN: dist-opt %s --dist-chunk-collectives | dist-opt --dist-chunk-collectives | FileCheck %s
// RUN: dist-run %s --random --machine cpu --reference %S/Inputs/merged_rows.mlir --verify %{opt} | FileCheck %s --check-prefix=EQUAL

// CHECK: dist.mesh @m ["tp" = 2]{{$}}
// CHECK: dist.all_reduce {{.*}} : tensor<1x4x8xf32>
// CHECK: dist.all_reduce {{.*}} : tensor<2x4x8xf32>
// CHECK-NOT: dist.all_reduce
// CHECK: tensor.collapse_shape {{.*}} : tensor<3x4x8xf32> into tensor<12x8xf32>
// EQUAL: y: equal to the program on one rank
#x = affine_map<(g, s, n, k) -> (g, s, k)>
#w = affine_map<(g, s, n, k) -> (k, n)>
#y = affine_map<(g, s, n, k) -> (g, s, n)>
dist.mesh @m ["tp" = 2] {dist.overlap = {b = {by = loc("s.mlir":1:1), chunks = 2 : i64}}}
func.func @main(%x: tensor<3x4x4xf32> {dist.input = "x", dist.sharding = #dist.sharding<@m, [{}, {}, {"tp"}]>, dist.global_type = tensor<3x4x8xf32>},
                %w: tensor<4x8xf32> {dist.input = "w", dist.sharding = #dist.sharding<@m, [{"tp"}, {}]>, dist.global_type = tensor<8x8xf32>})
    -> (tensor<2x8xf32> {dist.output = "y", dist.sharding = #dist.sharding<@m, [{}, {}]>, dist.global_type = tensor<2x8xf32>}) {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3x4x8xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<3x4x8xf32>) -> tensor<3x4x8xf32>
  %p = linalg.contract indexing_maps = [#x, #w, #y] {dist.scope = "b"} ins(%x, %w : tensor<3x4x4xf32>, tensor<4x8xf32>) outs(%f : tensor<3x4x8xf32>) -> tensor<3x4x8xf32>
  %r = dist.all_reduce %p sum over "tp" on @m {dist.scope = "b"} : tensor<3x4x8xf32>
  %c = tensor.collapse_shape %r [[0, 1], [2]] : tensor<3x4x8xf32> into tensor<12x8xf32>
  %s = tensor.extract_slice %c[0, 0] [2, 8] [1, 1] : tensor<12x8xf32> to tensor<2x8xf32>
  return %s : tensor<2x8xf32>
}
