// RUN: dist-opt %s --split-input-file --dist-split-sums | FileCheck %s

#x = affine_map<(i, j) -> (i, j)>
#s = affine_map<(i, j) -> (j)>

// Rows that no part divides: the last ones are added to what the sum begins with.
// CHECK-DAG: #[[$IN:.*]] = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK-DAG: #[[$PART:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-LABEL: @rows(
// CHECK-SAME: %[[X:.*]]: tensor<20483x8xf32>, %[[INIT:.*]]: tensor<8xf32>
// CHECK: %[[MAIN:.*]] = tensor.extract_slice %[[X]][0, 0] [20480, 8] [1, 1]
// CHECK: %[[CUT:.*]] = tensor.expand_shape %[[MAIN]] {{\[\[}}0, 1], [2]] output_shape [5, 4096, 8]
// CHECK: %[[PARTS:.*]] = linalg.generic {indexing_maps = [#[[$IN]], #[[$PART]]], iterator_types = ["parallel", "reduction", "parallel"]} ins(%[[CUT]] : {{.*}} outs(%{{.*}} : tensor<5x8xf32>)
// CHECK: %[[LAST:.*]] = tensor.extract_slice %[[X]][20480, 0] [3, 8] [1, 1]
// CHECK: %[[BEGIN:.*]] = linalg.generic {{.*}} ins(%[[LAST]] : tensor<3x8xf32>) outs(%[[INIT]] : tensor<8xf32>)
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]} ins(%[[PARTS]] : tensor<5x8xf32>) outs(%[[BEGIN]] : tensor<8xf32>)
func.func @rows(%x: tensor<20483x8xf32>, %init: tensor<8xf32>) -> tensor<8xf32> {
  %0 = linalg.generic {indexing_maps = [#x, #s], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<20483x8xf32>) outs(%init : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %b, %a : f32
    linalg.yield %c : f32
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

#x = affine_map<(b, s, j) -> (b, s, j)>
#v = affine_map<(b, s, j) -> (s)>
#o = affine_map<(b, s, j) -> (j)>

// A batch and a sequence: a part has the sequence of one of the batch. Places are what they were.
// CHECK-LABEL: @batch(
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction", "parallel"]} ins(%{{.*}}, %{{.*}} : tensor<40x4000x8xf32>, tensor<4000xf32>) outs({{.*}} : tensor<40x8xf32>)
// CHECK: linalg.index 0
// CHECK: iterator_types = ["reduction", "parallel"]} ins(%{{.*}} : tensor<40x8xf32>)
func.func @batch(%x: tensor<40x4000x8xf32>, %v: tensor<4000xf32>, %init: tensor<8xf32>) -> tensor<8xf32> {
  %0 = linalg.generic {indexing_maps = [#x, #v, #o], iterator_types = ["reduction", "reduction", "parallel"]} ins(%x, %v : tensor<40x4000x8xf32>, tensor<4000xf32>) outs(%init : tensor<8xf32>) {
  ^bb0(%a: f32, %w: f32, %b: f32):
    %i = linalg.index 0 : index
    %j = arith.index_cast %i : index to i32
    %f = arith.sitofp %j : i32 to f32
    %m = arith.mulf %a, %f : f32
    %n = arith.mulf %m, %w : f32
    %c = arith.addf %b, %n : f32
    linalg.yield %c : f32
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

#x = affine_map<(i, j, k) -> (i, j, k)>
#s = affine_map<(i, j, k) -> (j, k)>

// Rows that do not all count; a last dimension of one element says nothing.
// CHECK-LABEL: @counted(
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction", "parallel", "parallel"]} ins(%{{.*}} : tensor<5x4096x8x1xf32>) outs(%{{.*}} : tensor<5x8x1xf32>)
// CHECK: arith.select
// CHECK: iterator_types = ["reduction", "parallel", "parallel"]} ins(%{{.*}} : tensor<5x8x1xf32>)
func.func @counted(%x: tensor<20480x8x1xf32>, %init: tensor<8x1xf32>) -> tensor<8x1xf32> {
  %rows = arith.constant 20000 : index
  %0 = linalg.generic {indexing_maps = [#x, #s], iterator_types = ["reduction", "parallel", "parallel"]} ins(%x : tensor<20480x8x1xf32>) outs(%init : tensor<8x1xf32>) {
  ^bb0(%a: f32, %b: f32):
    %i = linalg.index 0 : index
    %counts = arith.cmpi slt, %i, %rows : index
    %c = arith.addf %b, %a : f32
    %d = arith.select %counts, %c, %b : f32
    linalg.yield %d : f32
  } -> tensor<8x1xf32>
  return %0 : tensor<8x1xf32>
}

// -----

#x = affine_map<(i, j) -> (i, j)>
#s = affine_map<(i, j) -> (j)>
#t = affine_map<(i, j) -> (i)>

// Left as they are: f64, few rows, what kernels split themselves, what is no sum.
// CHECK-LABEL: @others(
// CHECK-NOT: expand_shape
// CHECK: return
func.func @others(%x: tensor<20480x8xf64>, %i0: tensor<8xf64>, %y: tensor<16384x8xf32>, %z: tensor<8x20480xf32>, %w: tensor<20480x8xf32>, %i1: tensor<8xf32>)
    -> (tensor<8xf64>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %0 = linalg.generic {indexing_maps = [#x, #s], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<20480x8xf64>) outs(%i0 : tensor<8xf64>) {
  ^bb0(%a: f64, %b: f64):
    %c = arith.addf %b, %a : f64
    linalg.yield %c : f64
  } -> tensor<8xf64>
  %1 = linalg.generic {indexing_maps = [#x, #s], iterator_types = ["reduction", "parallel"]} ins(%y : tensor<16384x8xf32>) outs(%i1 : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %b, %a : f32
    linalg.yield %c : f32
  } -> tensor<8xf32>
  %2 = linalg.generic {indexing_maps = [#x, #t], iterator_types = ["parallel", "reduction"]} ins(%z : tensor<8x20480xf32>) outs(%i1 : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %b, %a : f32
    linalg.yield %c : f32
  } -> tensor<8xf32>
  %3 = linalg.generic {indexing_maps = [#x, #s], iterator_types = ["reduction", "parallel"]} ins(%w : tensor<20480x8xf32>) outs(%i1 : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %d = arith.mulf %b, %a : f32
    %c = arith.addf %b, %d : f32
    linalg.yield %c : f32
  } -> tensor<8xf32>
  return %0, %1, %2, %3 : tensor<8xf64>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
