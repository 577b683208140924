// Where an order ends: what is copied there is weighed against what collectives
// copy, and says for which of them it is.
// RUN: dist-opt %s --dist-fuse-transposes --cse --dist-verify-spmd | FileCheck %s
// RUN: dist-opt %s --dist-fuse-transposes --cse | dist-report --json - | FileCheck %s --check-prefix=JSON
// RUN: not dist-opt %s --dist-fuse-transposes=nonsense 2>&1 | FileCheck %s --check-prefix=OPTION

// OPTION: no such option nonsense

// JSON: "name":"main",{{.*}}"op":"all_gather",{{.*}}"count":1,"packed_bytes_per_rank":96,{{.*}}"totals":{"all_gather":{{{.*}}"packed_bytes_per_rank":96}},"packed_bytes_per_rank":96,

dist.mesh @m ["tp" = 4]

#id = affine_map<(i, j) -> (i, j)>
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>

// A weight that lies in parts of its second dimension: each rank transposes its
// part, 96 bytes, in place of the whole, 384.
// CHECK-LABEL: func @main(
// CHECK-SAME: %[[W:.*]]: tensor<8x3xf32>
// CHECK: %[[PART:.*]] = linalg.transpose ins(%[[W]] : tensor<8x3xf32>) outs(%{{.*}} : tensor<3x8xf32>) permutation = [1, 0]  {dist.packs = "all_gather", dist.scope = "fc"}
// CHECK: %[[ALL:.*]] = dist.all_gather %[[PART]] dim 0 over "tp" {dist.scope = "fc"} : tensor<3x8xf32> -> tensor<12x8xf32>
// CHECK: linalg.generic {indexing_maps = [#{{.*}}, #[[TRANSPOSED:.*]], #{{.*}}], iterator_types = ["parallel", "parallel", "reduction"]} ins(%{{.*}}, %[[ALL]] : tensor<5x8xf32>, tensor<12x8xf32>)
func.func @main(%w: tensor<8x3xf32>, %x: tensor<5x8xf32>) -> tensor<5x12xf32> {
  %all = dist.all_gather %w dim 1 over "tp" {dist.scope = "fc"} : tensor<8x3xf32> -> tensor<8x12xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5x12xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<5x12xf32>) -> tensor<5x12xf32>
  %0 = linalg.matmul ins(%x, %all : tensor<5x8xf32>, tensor<8x12xf32>) outs(%f : tensor<5x12xf32>) -> tensor<5x12xf32>
  return %0 : tensor<5x12xf32>
}

// What is gathered is a result as well: to transpose it would copy more.
// CHECK-LABEL: func private @returned
// CHECK-NOT: linalg.transpose
// CHECK: dist.all_gather %{{.*}} dim 1
// CHECK-NOT: linalg.transpose
// CHECK: return
func.func private @returned(%w: tensor<8x3xf32>) -> tensor<8x12xf32> {
  %all = dist.all_gather %w dim 1 over "tp" : tensor<8x3xf32> -> tensor<8x12xf32>
  return %all : tensor<8x12xf32>
}

// Slices, other collectives and elementwise ops on tensors follow; the fill that
// two products share is made once more, and stays as it was for the other one.
// CHECK-LABEL: func private @carried
// CHECK: %[[A:.*]] = linalg.contract {{.*}} -> tensor<12x5xf32>
// CHECK: %[[B:.*]] = linalg.contract {{.*}} -> tensor<5x12xf32>
// CHECK: %[[CUT:.*]] = tensor.extract_slice %[[A]][2, 1] [8, 3] [1, 1] : tensor<12x5xf32> to tensor<8x3xf32>
// CHECK: %[[SUM:.*]] = dist.all_reduce %[[CUT]] sum over "tp" : tensor<8x3xf32>
// CHECK: %[[NEG:.*]] = arith.negf %[[SUM]] : tensor<8x3xf32>
// CHECK: %[[PART:.*]] = dist.reduce_scatter %[[NEG]] sum dim 0 over "tp" : tensor<8x3xf32> -> tensor<2x3xf32>
// CHECK: linalg.generic {{.*}} ins(%[[PART]] : tensor<2x3xf32>) outs(%{{.*}} : tensor<3x2xf32>)
// CHECK: return %{{.*}}, %[[B]]
func.func private @carried(%x: tensor<5x8xf32>, %w: tensor<8x12xf32>) -> (tensor<3x2xf32>, tensor<5x12xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5x12xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<5x12xf32>) -> tensor<5x12xf32>
  %a = linalg.contract indexing_maps = [#mk, #kn, #mn] ins(%x, %w : tensor<5x8xf32>, tensor<8x12xf32>) outs(%f : tensor<5x12xf32>) -> tensor<5x12xf32>
  %b = linalg.contract indexing_maps = [#mk, #kn, #mn] {other} ins(%x, %w : tensor<5x8xf32>, tensor<8x12xf32>) outs(%f : tensor<5x12xf32>) -> tensor<5x12xf32>
  %cut = tensor.extract_slice %a[1, 2] [3, 8] [1, 1] : tensor<5x12xf32> to tensor<3x8xf32>
  %sum = dist.all_reduce %cut sum over "tp" : tensor<3x8xf32>
  %neg = arith.negf %sum : tensor<3x8xf32>
  %part = dist.reduce_scatter %neg sum dim 1 over "tp" : tensor<3x8xf32> -> tensor<3x2xf32>
  %e2 = tensor.empty() : tensor<3x2xf32>
  %exp = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%part : tensor<3x2xf32>) outs(%e2 : tensor<3x2xf32>) {
  ^bb0(%in: f32, %out: f32):
    %y = math.exp %in : f32
    linalg.yield %y : f32
  } -> tensor<3x2xf32>
  return %exp, %b : tensor<3x2xf32>, tensor<5x12xf32>
}

// A product that is added to what another op of linalg made: that one makes it in
// the order of the sum.
// CHECK-LABEL: func private @accumulated
// CHECK: %[[INIT:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<12x5xf32>)
// CHECK: %[[SUM:.*]] = linalg.contract {{.*}} outs(%[[INIT]] : tensor<12x5xf32>) -> tensor<12x5xf32>
// CHECK: dist.reduce_scatter %[[SUM]] sum dim 0
// CHECK-NOT: linalg.transpose
// CHECK: return
func.func private @accumulated(%x: tensor<5x8xf32>, %w: tensor<8x12xf32>, %y: tensor<5x12xf32>) -> tensor<5x3xf32> {
  %e = tensor.empty() : tensor<5x12xf32>
  %init = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<5x12xf32>) outs(%e : tensor<5x12xf32>) {
  ^bb0(%in: f32, %out: f32):
    %z = math.exp %in : f32
    linalg.yield %z : f32
  } -> tensor<5x12xf32>
  %a = linalg.contract indexing_maps = [#mk, #kn, #mn] ins(%x, %w : tensor<5x8xf32>, tensor<8x12xf32>) outs(%init : tensor<5x12xf32>) -> tensor<5x12xf32>
  %part = dist.reduce_scatter %a sum dim 1 over "tp" : tensor<5x12xf32> -> tensor<5x3xf32>
  %e2 = tensor.empty() : tensor<5x3xf32>
  %exp = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%part : tensor<5x3xf32>) outs(%e2 : tensor<5x3xf32>) {
  ^bb0(%in: f32, %out: f32):
    %z = math.exp %in : f32
    linalg.yield %z : f32
  } -> tensor<5x3xf32>
  return %exp : tensor<5x3xf32>
}
