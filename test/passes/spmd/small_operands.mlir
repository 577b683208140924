// Where a mask is cut says little of the scores that it is added to: it is moved, and they stay.
// RUN: dist-opt %s --split-input-file --dist-spmd | FileCheck %s

// Queries are cut, keys are gathered, and of the mask, which is cut by keys, 2 x 16 flags.

// CHECK-LABEL: func.func @mask
// CHECK: dist.all_gather %{{.*}} dim 0 over "x" {{.*}} : tensor<4x8xf32> -> tensor<16x8xf32>
// CHECK-NOT: {{dist.all_reduce|dist.reduce_scatter|dist.all_to_all}}
// CHECK: dist.all_gather %{{.*}} dim 0 over "x" {{.*}} : tensor<4xf32> -> tensor<16xf32>
// CHECK-NOT: {{dist.all_reduce|dist.reduce_scatter|dist.all_to_all|dist.all_gather}}
// CHECK: return
dist.mesh @m ["x" = 4]
func.func @mask(%q: tensor<16x8xf32> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>},
                %w: tensor<8x8xf32>, %m: tensor<16xf32> {dist.sharding = #dist.sharding<@m, [{"x"}]>}) -> tensor<16x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e8 = tensor.empty() : tensor<16x8xf32>
  %z8 = linalg.fill ins(%zero : f32) outs(%e8 : tensor<16x8xf32>) -> tensor<16x8xf32>
  %k = linalg.matmul ins(%q, %w : tensor<16x8xf32>, tensor<8x8xf32>) outs(%z8 : tensor<16x8xf32>) -> tensor<16x8xf32>
  %e = tensor.empty() : tensor<16x16xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  %s = linalg.contract indexing_maps = [affine_map<(i, j, d) -> (i, d)>, affine_map<(i, j, d) -> (j, d)>, affine_map<(i, j, d) -> (i, j)>]
      ins(%q, %k : tensor<16x8xf32>, tensor<16x8xf32>) outs(%z : tensor<16x16xf32>) -> tensor<16x16xf32>
  %n = math.log %m : tensor<16xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%s, %n : tensor<16x16xf32>, tensor<16xf32>) outs(%e : tensor<16x16xf32>) {
  ^bb0(%score: f32, %mask: f32, %out: f32):
    %sum = arith.addf %score, %mask : f32
    linalg.yield %sum : f32
  } -> tensor<16x16xf32>
  %x = math.exp %r : tensor<16x16xf32>
  return %x : tensor<16x16xf32>
}

// -----

// Operands of one shape all count: queries that are added up from two values are cut by rows before the values' rows,
// which are summed over, can cut the keys.

// CHECK-LABEL: func.func @equals
// CHECK: linalg.add {{.*}} -> tensor<4x8xf32>
// CHECK: linalg.contract {{.*}} -> tensor<4x16xf32>
// CHECK: linalg.matmul {{.*}} -> tensor<4x8xf32>
// CHECK-NOT: {{dist.all_reduce|dist.reduce_scatter|dist.all_to_all}}
// CHECK: return
dist.mesh @m ["x" = 4]
func.func @equals(%a: tensor<16x8xf32> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>}) -> tensor<16x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e8 = tensor.empty() : tensor<16x8xf32>
  %z8 = linalg.fill ins(%zero : f32) outs(%e8 : tensor<16x8xf32>) -> tensor<16x8xf32>
  %x = math.exp %a : tensor<16x8xf32>
  %c = math.cos %x : tensor<16x8xf32>
  %d = math.sin %x : tensor<16x8xf32>
  %q = linalg.add ins(%c, %d : tensor<16x8xf32>, tensor<16x8xf32>) outs(%e8 : tensor<16x8xf32>) -> tensor<16x8xf32>
  %k = linalg.sub ins(%c, %d : tensor<16x8xf32>, tensor<16x8xf32>) outs(%e8 : tensor<16x8xf32>) -> tensor<16x8xf32>
  %e = tensor.empty() : tensor<16x16xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  %s = linalg.contract indexing_maps = [affine_map<(i, j, d) -> (i, d)>, affine_map<(i, j, d) -> (j, d)>, affine_map<(i, j, d) -> (i, j)>]
      ins(%q, %k : tensor<16x8xf32>, tensor<16x8xf32>) outs(%z : tensor<16x16xf32>) -> tensor<16x16xf32>
  %p = math.exp %s : tensor<16x16xf32>
  %y = linalg.matmul ins(%p, %x : tensor<16x16xf32>, tensor<16x8xf32>) outs(%z8 : tensor<16x8xf32>) -> tensor<16x8xf32>
  return %y : tensor<16x8xf32>
}
