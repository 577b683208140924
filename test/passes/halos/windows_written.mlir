// RUN: %{root}/tools/dist-opt %s --split-input-file --dist-spmd --canonicalize --cse | FileCheck %s

// What an op adds up in windows of a sharded dimension of its result goes home:
// the adjoint of reading in windows, as the gradient of what a convolution
// reads. The rows that a pad added, cut off again, are sent by nobody.

// CHECK-LABEL: func.func @main(
// CHECK-SAME: tensor<4x3xf32>
// CHECK: %[[R:.*]] = linalg.generic {{.*}} ins(%arg0, %arg1 : tensor<4x3xf32>, tensor<3xf32>)
// CHECK: -> tensor<6x3xf32>
// CHECK: %[[ALL:.*]] = dist.halo_reduce %[[R]] dim 0 low 1 high 1 over "sp"
// CHECK-SAME: cause "{{.*}}sends home rows of result 0, which linalg.generic adds up in windows"
// CHECK-SAME: tensor<6x3xf32> -> tensor<4x3xf32>
// CHECK-NOT: dist.{{[a-z_]+}} %
// CHECK: return %[[ALL]] : tensor<4x3xf32>
#y = affine_map<(o, k, c) -> (o, c)>
#w = affine_map<(o, k, c) -> (k)>
#x = affine_map<(o, k, c) -> (o + k, c)>
dist.mesh @m ["sp" = 4]
func.func @main(%y: tensor<16x3xf32> {dist.sharding = #dist.sharding<@m, [{"sp"}, {}]>}, %w: tensor<3xf32>) -> tensor<16x3xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<18x3xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<18x3xf32>) -> tensor<18x3xf32>
  %r = linalg.generic {indexing_maps = [#y, #w, #x], iterator_types = ["reduction", "reduction", "parallel"]}
      ins(%y, %w : tensor<16x3xf32>, tensor<3xf32>) outs(%f : tensor<18x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<18x3xf32>
  %s = tensor.extract_slice %r[1, 0] [16, 3] [1, 1] : tensor<18x3xf32> to tensor<16x3xf32>
  return %s : tensor<16x3xf32>
}

// -----

// Two dimensions: the second is sent first, with the rows that the first sends
// on, and so the corners.

// CHECK-LABEL: func.func @main(
// CHECK: linalg.generic
// CHECK: -> tensor<10x6xf32>
// CHECK: dist.halo_reduce {{.*}} dim 1 low 1 high 1 over "x" {{.*}} tensor<10x6xf32> -> tensor<10x4xf32>
// CHECK: dist.halo_reduce {{.*}} dim 0 low 1 high 1 over "y" {{.*}} tensor<10x4xf32> -> tensor<8x4xf32>
// CHECK-NOT: dist.{{[a-z_]+}} %
// CHECK: return
#y = affine_map<(p, q, k, l) -> (p, q)>
#w = affine_map<(p, q, k, l) -> (k, l)>
#x = affine_map<(p, q, k, l) -> (p + k, q + l)>
dist.mesh @m ["y" = 2, "x" = 2]
func.func @main(%y: tensor<16x8xf32> {dist.sharding = #dist.sharding<@m, [{"y"}, {"x"}]>}, %w: tensor<3x3xf32>) -> tensor<16x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<18x10xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<18x10xf32>) -> tensor<18x10xf32>
  %r = linalg.generic {indexing_maps = [#y, #w, #x], iterator_types = ["reduction", "reduction", "reduction", "reduction"]}
      ins(%y, %w : tensor<16x8xf32>, tensor<3x3xf32>) outs(%f : tensor<18x10xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<18x10xf32>
  %s = tensor.extract_slice %r[1, 1] [16, 8] [1, 1] : tensor<18x10xf32> to tensor<16x8xf32>
  return %s : tensor<16x8xf32>
}

// -----

// Windows that do not overlap write blocks that fit: nothing is sent.

// CHECK-LABEL: func.func @main(
// CHECK-NOT: dist.{{[a-z_]+}} %
// CHECK: linalg.generic {{.*}} ins(%arg0, %arg1 : tensor<4xf32>, tensor<2xf32>)
// CHECK: -> tensor<8xf32>
// CHECK-NEXT: return
#y = affine_map<(o, k) -> (o)>
#w = affine_map<(o, k) -> (k)>
#x = affine_map<(o, k) -> (o * 2 + k)>
dist.mesh @m ["sp" = 2]
func.func @main(%y: tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{"sp"}]>}, %w: tensor<2xf32>) -> tensor<16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  %r = linalg.generic {indexing_maps = [#y, #w, #x], iterator_types = ["reduction", "reduction"]}
      ins(%y, %w : tensor<8xf32>, tensor<2xf32>) outs(%f : tensor<16xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<16xf32>
  return %r : tensor<16xf32>
}

// -----

// Windows wider than blocks: rows go to several neighbours.

// CHECK-LABEL: func.func @main(
// CHECK: linalg.generic
// CHECK: -> tensor<8xf32>
// CHECK: dist.halo_reduce {{.*}} dim 0 low 3 high 3 over "sp" {{.*}} tensor<8xf32> -> tensor<2xf32>
// CHECK-NOT: dist.{{[a-z_]+}} %
// CHECK: return %{{.*}} : tensor<2xf32>
#y = affine_map<(o, k) -> (o)>
#w = affine_map<(o, k) -> (k)>
#x = affine_map<(o, k) -> (o + k)>
dist.mesh @m ["sp" = 4]
func.func @main(%y: tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{"sp"}]>}, %w: tensor<7xf32>) -> tensor<8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<14xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<14xf32>) -> tensor<14xf32>
  %r = linalg.generic {indexing_maps = [#y, #w, #x], iterator_types = ["reduction", "reduction"]}
      ins(%y, %w : tensor<8xf32>, tensor<7xf32>) outs(%f : tensor<14xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<14xf32>
  %s = tensor.extract_slice %r[3] [8] [1] : tensor<14xf32> to tensor<8xf32>
  return %s : tensor<8xf32>
}

// -----

// Blocks drift apart: what a device has begins elsewhere on each. What is added
// to is added once, at home, and read in no windows.

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %arg2: tensor<3xf32>
// CHECK-NOT: dist.halo_exchange
// CHECK: linalg.generic
// CHECK: -> tensor<6xf32>
// CHECK: %[[AT:.*]] = arith.subi
// CHECK: tensor.insert_slice %{{.*}}[%[[AT]]] [6] [1]
// CHECK: dist.halo_reduce {{.*}} dim 0 low 3 high 3 over "sp" {{.*}} tensor<9xf32> -> tensor<3xf32>
// CHECK-NOT: dist.{{[a-z_]+}} %
// CHECK: linalg.generic {{.*}} ins(%arg2, %{{.*}} : tensor<3xf32>, tensor<3xf32>)
#y = affine_map<(o, k) -> (o)>
#w = affine_map<(o, k) -> (k)>
#x = affine_map<(o, k) -> (o + k)>
dist.mesh @m ["sp" = 4]
func.func @main(%y: tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{"sp"}]>}, %w: tensor<5xf32>, %x: tensor<12xf32>) -> tensor<12xf32> {
  %r = linalg.generic {indexing_maps = [#y, #w, #x], iterator_types = ["reduction", "reduction"]}
      ins(%y, %w : tensor<8xf32>, tensor<5xf32>) outs(%x : tensor<12xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<12xf32>
  return %r : tensor<12xf32>
}

// -----

// What a sum in windows begins with is padded: it is written there, not read in windows, so that it has its padding.
#table = affine_map<(d0, d1, d2, d3) -> (d0, d3)>
#tap = affine_map<(d0, d1, d2, d3) -> (d1, d3)>
#sum = affine_map<(d0, d1, d2, d3) -> (d0 + d1, d2)>
// CHECK-LABEL: func.func @padded_start
// CHECK:       %[[START:.*]] = linalg.generic {{.*}} ins(%arg0 : tensor<8x4xf64>)
// CHECK:       arith.select
// CHECK:       %[[SUM:.*]] = linalg.generic {{.*}} iterator_types = ["reduction", "reduction", "parallel", "reduction"]
// CHECK:       linalg.generic {{.*}} ins(%[[START]], %[[SUM]] : tensor<8x4xf64>, tensor<8x4xf64>)
dist.mesh @m ["x" = 2]
func.func @padded_start(%x: tensor<15x4xf64> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>}, %a: tensor<16x2xf64>, %b: tensor<1x2xf64>) -> tensor<16x4xf64> {
  %zero = arith.constant 0.0 : f64
  %padded = tensor.pad %x low[0, 0] high[1, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f64
  } : tensor<15x4xf64> to tensor<16x4xf64>
  %0 = linalg.generic {indexing_maps = [#table, #tap, #sum], iterator_types = ["reduction", "reduction", "parallel", "reduction"]}
      ins(%a, %b : tensor<16x2xf64>, tensor<1x2xf64>) outs(%padded : tensor<16x4xf64>) {
  ^bb0(%p: f64, %q: f64, %o: f64):
    %1 = arith.mulf %p, %q : f64
    %2 = arith.addf %o, %1 : f64
    linalg.yield %2 : f64
  } -> tensor<16x4xf64>
  return %0 : tensor<16x4xf64>
}
