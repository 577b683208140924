// Queries, keys and values of dist.attention are read before they were transposed, and numbers that queries
// and keys are both multiplied by are one, of the queries. What nobody else reads of what came between is gone.
//
// RUN: dist-opt %s --dist-form-attention --split-input-file | FileCheck %s

#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (h, d, j)>
#v = affine_map<(h, i, j, d, e) -> (h, j, e)>
#o = affine_map<(h, i, j, d, e) -> (h, i, e)>
#all = affine_map<(a, b, c) -> (a, b, c)>
#frombac = affine_map<(a, b, c) -> (b, a, c)>
#fromcab = affine_map<(a, b, c) -> (c, a, b)>

// CHECK-DAG: #[[$I:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d1, d0, d3)>
// CHECK-DAG: #[[$J:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d2, d0, d3)>
// CHECK-DAG: #[[$E:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d2, d0, d4)>
// CHECK-LABEL: @transposed
// CHECK-SAME: (%[[Q:.*]]: tensor<32x4x8xf32>, %[[K:.*]]: tensor<32x4x8xf32>, %[[V:.*]]: tensor<32x4x8xf32>)
// CHECK-COUNT-1: linalg.generic {{.*}} ins(%[[Q]] :
// CHECK: %[[F:.*]] = arith.constant 1.250000e-01 : f32
// CHECK: arith.mulf {{.*}}, %[[F]]
// CHECK-NOT: linalg.generic
// CHECK: dist.attention(%{{.*}}, %[[K]], %[[V]] : {{.*}} maps [#[[$I]], #[[$J]], #[[$E]], {{.*}}]
func.func @transposed(%q: tensor<32x4x8xf32>, %k: tensor<32x4x8xf32>, %v: tensor<32x4x8xf32>) -> tensor<4x32x8xf32> {
  %c = arith.constant 0.25 : f32
  %half = arith.constant 0.5 : f32
  %e = tensor.empty() : tensor<4x32x8xf32>
  %t = tensor.empty() : tensor<4x8x32xf32>
  %0 = linalg.generic {indexing_maps = [#frombac, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%q : tensor<32x4x8xf32>) outs(%e : tensor<4x32x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<4x32x8xf32>
  %1 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%0 : tensor<4x32x8xf32>) outs(%e : tensor<4x32x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %m = arith.mulf %in, %c : f32
    linalg.yield %m : f32
  } -> tensor<4x32x8xf32>
  %2 = linalg.generic {indexing_maps = [#fromcab, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%k : tensor<32x4x8xf32>) outs(%t : tensor<4x8x32xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<4x8x32xf32>
  %3 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%2 : tensor<4x8x32xf32>) outs(%t : tensor<4x8x32xf32>) {
  ^bb0(%in: f32, %out: f32):
    %m = arith.mulf %half, %in : f32
    linalg.yield %m : f32
  } -> tensor<4x8x32xf32>
  %4 = linalg.generic {indexing_maps = [#frombac, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%v : tensor<32x4x8xf32>) outs(%e : tensor<4x32x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<4x32x8xf32>
  %5 = dist.attention(%1, %3, %4 : tensor<4x32x8xf32>, tensor<4x8x32xf32>, tensor<4x32x8xf32>)
      outs(%e : tensor<4x32x8xf32>) maps [#q, #k, #v, #o] {
  ^bb0(%s: f32, %h: index, %i: index, %j: index):
    dist.attention_yield %s : f32
  } -> tensor<4x32x8xf32>
  return %5 : tensor<4x32x8xf32>
}

// -----

// A number that is added, or a value that is multiplied, stays as it is.
#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (h, d, j)>
#v = affine_map<(h, i, j, d, e) -> (h, j, e)>
#o = affine_map<(h, i, j, d, e) -> (h, i, e)>
#all = affine_map<(a, b, c) -> (a, b, c)>

// CHECK-LABEL: @others
// CHECK-SAME: (%[[Q:.*]]: tensor<4x32x8xf32>, %[[K:.*]]: tensor<4x8x32xf32>, %[[V:.*]]: tensor<4x32x8xf32>)
// CHECK: %[[A:.*]] = linalg.generic {{.*}} ins(%[[K]]
// CHECK: arith.addf
// CHECK: %[[M:.*]] = linalg.generic {{.*}} ins(%[[V]]
// CHECK: arith.mulf
// CHECK: dist.attention(%[[Q]], %[[A]], %[[M]] :
func.func @others(%q: tensor<4x32x8xf32>, %k: tensor<4x8x32xf32>, %v: tensor<4x32x8xf32>) -> tensor<4x32x8xf32> {
  %c = arith.constant 0.25 : f32
  %e = tensor.empty() : tensor<4x32x8xf32>
  %t = tensor.empty() : tensor<4x8x32xf32>
  %0 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%k : tensor<4x8x32xf32>) outs(%t : tensor<4x8x32xf32>) {
  ^bb0(%in: f32, %out: f32):
    %m = arith.addf %in, %c : f32
    linalg.yield %m : f32
  } -> tensor<4x8x32xf32>
  %1 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%v : tensor<4x32x8xf32>) outs(%e : tensor<4x32x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %m = arith.mulf %in, %c : f32
    linalg.yield %m : f32
  } -> tensor<4x32x8xf32>
  %2 = dist.attention(%q, %0, %1 : tensor<4x32x8xf32>, tensor<4x8x32xf32>, tensor<4x32x8xf32>)
      outs(%e : tensor<4x32x8xf32>) maps [#q, #k, #v, #o] {
  ^bb0(%s: f32, %h: index, %i: index, %j: index):
    dist.attention_yield %s : f32
  } -> tensor<4x32x8xf32>
  return %2 : tensor<4x32x8xf32>
}
