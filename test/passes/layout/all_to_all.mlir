// Of the pack and the unpack of an all_to_all one goes: the dimension that is
// cut, or the one that is put together, becomes the leading one, whichever
// leaves the innermost dimension where it is. What cannot take another order
// keeps its own.
// RUN: dist-opt %s --dist-fuse-transposes --cse --dist-verify-spmd | FileCheck %s
// RUN: dist-report %s --json | /usr/bin/python3 -m json.tool | FileCheck %s --check-prefix=BEFORE
// RUN: dist-report %s --json --fuse-transposes | /usr/bin/python3 -m json.tool | FileCheck %s --check-prefix=AFTER

// 2 * 4 * 6 floats before and after: 192 bytes each; in all of the collectives
// and of the function.
// BEFORE: "name": "main"
// BEFORE: "totals": {
// BEFORE: "packed_bytes_per_rank": 384
// BEFORE: "packed_bytes_per_rank": 384,
// BEFORE: "name": "to_heads"
// BEFORE: "totals": {
// BEFORE: "packed_bytes_per_rank": 384
// BEFORE: "packed_bytes_per_rank": 384,
// BEFORE: "name": "one_sequence"
// BEFORE: "totals": {
// BEFORE: "packed_bytes_per_rank": 96
// BEFORE: "packed_bytes_per_rank": 96,
// BEFORE: "name": "from_argument"
// BEFORE: "totals": {
// BEFORE: "packed_bytes_per_rank": 384
// BEFORE: "packed_bytes_per_rank": 384,
// AFTER: "name": "main"
// AFTER: "totals": {
// AFTER: "packed_bytes_per_rank": 192
// AFTER: "packed_bytes_per_rank": 192,
// AFTER: "name": "to_heads"
// AFTER: "totals": {
// AFTER: "packed_bytes_per_rank": 192
// AFTER: "packed_bytes_per_rank": 192,
// AFTER: "name": "one_sequence"
// AFTER: "totals": {
// AFTER: "packed_bytes_per_rank": 96
// AFTER: "packed_bytes_per_rank": 96,
// AFTER: "name": "from_argument"
// AFTER: "totals": {
// AFTER: "packed_bytes_per_rank": 384
// AFTER: "packed_bytes_per_rank": 384,

dist.mesh @m ["sp" = 2]

#id = affine_map<(b, s, h) -> (b, s, h)>

// From the sequence to the heads, as Ulysses does before attention.
// CHECK-LABEL: func @main
// CHECK: %[[A:.*]] = linalg.generic {indexing_maps = [#[[$SAME:map[0-9]*]], #[[$MOVED:map[0-9]*]]]
// CHECK-SAME: outs(%{{.*}} : tensor<4x2x6xf32>)
// CHECK: dist.all_to_all %[[A]] split 2 concat 0 over "sp" : tensor<4x2x6xf32> -> tensor<8x2x3xf32>
// CHECK: linalg.generic {indexing_maps = [#[[$MOVED]], #[[$SAME]]]
// CHECK-SAME: outs(%{{.*}} : tensor<2x8x3xf32>)
func.func @main(%x: tensor<2x4x6xf32>) -> tensor<2x8x3xf32> {
  %e0 = tensor.empty() : tensor<2x4x6xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<2x4x6xf32>) outs(%e0 : tensor<2x4x6xf32>) {
  ^bb0(%a: f32, %out: f32):
    %n = arith.negf %a : f32
    linalg.yield %n : f32
  } -> tensor<2x4x6xf32>
  %1 = dist.all_to_all %0 split 2 concat 1 over "sp" : tensor<2x4x6xf32> -> tensor<2x8x3xf32>
  %e1 = tensor.empty() : tensor<2x8x3xf32>
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%1 : tensor<2x8x3xf32>) outs(%e1 : tensor<2x8x3xf32>) {
  ^bb0(%a: f32, %out: f32):
    %n = arith.negf %a : f32
    linalg.yield %n : f32
  } -> tensor<2x8x3xf32>
  return %2 : tensor<2x8x3xf32>
}

// A reshape in between carries the order on; a transposition takes any.
// CHECK-LABEL: func private @to_heads
// CHECK: dist.all_to_all %{{.*}} split 2 concat 0 over "sp" : tensor<4x2x6xf32> -> tensor<8x2x3xf32>
// CHECK: %[[HEADS:.*]] = tensor.expand_shape %{{.*}} {{\[\[}}0], [1], [2, 3]] output_shape [8, 2, 3, 1] : tensor<8x2x3xf32> into tensor<8x2x3x1xf32>
// CHECK: linalg.transpose ins(%[[HEADS]] : tensor<8x2x3x1xf32>) outs(%{{.*}} : tensor<2x3x8x1xf32>) permutation = [1, 2, 0, 3]
func.func private @to_heads(%x: tensor<2x4x6xf32>) -> tensor<2x3x8x1xf32> {
  %e0 = tensor.empty() : tensor<2x4x6xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<2x4x6xf32>) outs(%e0 : tensor<2x4x6xf32>) {
  ^bb0(%a: f32, %out: f32):
    %n = arith.negf %a : f32
    linalg.yield %n : f32
  } -> tensor<2x4x6xf32>
  %1 = dist.all_to_all %0 split 2 concat 1 over "sp" : tensor<2x4x6xf32> -> tensor<2x8x3xf32>
  %2 = tensor.expand_shape %1 [[0], [1], [2, 3]] output_shape [2, 8, 3, 1] : tensor<2x8x3xf32> into tensor<2x8x3x1xf32>
  %e1 = tensor.empty() : tensor<2x3x8x1xf32>
  %3 = linalg.transpose ins(%2 : tensor<2x8x3x1xf32>) outs(%e1 : tensor<2x3x8x1xf32>) permutation = [0, 2, 1, 3]
  return %3 : tensor<2x3x8x1xf32>
}

// A batch of one is no dimension before the sequence: only the pack is copied,
// as before.
// CHECK-LABEL: func private @one_sequence
// CHECK: dist.all_to_all %{{.*}} split 2 concat 1 over "sp" : tensor<1x4x6xf32> -> tensor<1x8x3xf32>
func.func private @one_sequence(%x: tensor<1x4x6xf32>) -> tensor<1x8x3xf32> {
  %1 = dist.all_to_all %x split 2 concat 1 over "sp" : tensor<1x4x6xf32> -> tensor<1x8x3xf32>
  return %1 : tensor<1x8x3xf32>
}

// Both ends know one order: two transposes would copy as much as is saved.
// CHECK-LABEL: func private @from_argument
// CHECK-NOT: linalg.transpose
// CHECK: dist.all_to_all %{{.*}} split 2 concat 1
// CHECK-NOT: linalg.transpose
// CHECK: return
func.func private @from_argument(%x: tensor<2x4x6xf32>) -> tensor<2x8x3xf32> {
  %1 = dist.all_to_all %x split 2 concat 1 over "sp" : tensor<2x4x6xf32> -> tensor<2x8x3xf32>
  return %1 : tensor<2x8x3xf32>
}
