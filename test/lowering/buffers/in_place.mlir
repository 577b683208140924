// What is computed in place, and what is copied because something else needs what lies there.
//
// RUN: dist-opt %s --dist-bufferize --canonicalize --split-input-file | FileCheck %s

#id = affine_map<(d0) -> (d0)>

// A chain of ops that each need their operand for the last time: one buffer and the result's.
// CHECK-LABEL: func.func @chain
// CHECK: %[[A:.*]] = memref.alloc
// CHECK-NOT: memref.alloc
// CHECK: linalg.generic {{.*}} ins(%arg0 {{.*}} outs(%[[A]]
// CHECK: linalg.generic {{.*}} ins(%[[A]] {{.*}} outs(%[[A]]
// CHECK: linalg.generic {{.*}} ins(%[[A]] {{.*}} outs(%arg1
func.func @chain(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.addf %in, %in : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : tensor<4xf32>) outs(%a : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = math.exp %in : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %c = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%b : tensor<4xf32>) outs(%b : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.negf %in : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  return %c : tensor<4xf32>
}

// -----

#id = affine_map<(d0) -> (d0)>

// The value is read after it would be overwritten: the op gets a copy to accumulate on.
// CHECK-LABEL: func.func @needed_later
// CHECK: %[[A:.*]] = memref.alloc
// CHECK: linalg.generic {{.*}} outs(%[[A]]
// CHECK: %[[B:.*]] = memref.alloc
// CHECK: memref.copy %[[A]], %[[B]]
// CHECK: linalg.generic {{.*}} outs(%[[B]]
// CHECK: linalg.generic {{.*}} ins(%[[A]], %[[B]]
func.func @needed_later(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = math.exp %in : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%a : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.addf %in, %out : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %o = tensor.empty() : tensor<4xf32>
  %c = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%a, %b : tensor<4xf32>, tensor<4xf32>) outs(%o : tensor<4xf32>) {
  ^bb0(%in: f32, %in2: f32, %out: f32):
    %s = arith.mulf %in, %in2 : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  return %c : tensor<4xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>

// Rows are computed in their places in the result, the second from the first: both are parts of one buffer with nothing
// in common.
// CHECK-LABEL: func.func @rows
// CHECK-SAME: %[[OUT:[a-z0-9]+]]: memref<2x4xf32>)
// CHECK-NOT: memref.alloc
// CHECK: %[[FIRST:.*]] = memref.subview %[[OUT]][0, 0]
// CHECK: linalg.generic {{.*}} outs(%[[FIRST]]
// CHECK: %[[SECOND:.*]] = memref.subview %[[OUT]][1, 0]
// CHECK: linalg.generic {{.*}} ins(%[[FIRST]]{{.*}} outs(%[[SECOND]]
// CHECK-NOT: memref.alloc
func.func @rows(%x: tensor<1x4xf32>, %f: f32) -> tensor<2x4xf32> {
  %e = tensor.empty() : tensor<2x4xf32>
  %whole = linalg.fill ins(%f : f32) outs(%e : tensor<2x4xf32>) -> tensor<2x4xf32>
  %e0 = tensor.empty() : tensor<1x4xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<1x4xf32>) outs(%e0 : tensor<1x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = math.exp %in : f32
    linalg.yield %s : f32
  } -> tensor<1x4xf32>
  %w0 = tensor.insert_slice %a into %whole[0, 0] [1, 4] [1, 1] : tensor<1x4xf32> into tensor<2x4xf32>
  %e1 = tensor.empty() : tensor<1x4xf32>
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<1x4xf32>) outs(%e1 : tensor<1x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = math.exp %in : f32
    linalg.yield %s : f32
  } -> tensor<1x4xf32>
  %w1 = tensor.insert_slice %b into %w0[1, 0] [1, 4] [1, 1] : tensor<1x4xf32> into tensor<2x4xf32>
  return %w1 : tensor<2x4xf32>
}

// -----

#id = affine_map<(d0) -> (d0)>

// Parts that overlap: the second may not be written where the first is still read.
// CHECK-LABEL: func.func @overlap
// CHECK: linalg.generic {{.*}} outs(%arg1
// CHECK: %[[FIRST:.*]] = memref.subview %arg1[0] [4]
// CHECK: %[[B:.*]] = memref.alloc
// CHECK: memref.copy %arg1, %[[B]]
// CHECK: %[[SECOND:.*]] = memref.subview %[[B]][2] [4]
// CHECK: memref.copy %{{.*}}, %[[SECOND]]
// CHECK: linalg.copy ins(%[[FIRST]]
// CHECK: memref.copy %[[B]], %arg1
func.func @overlap(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<4xf32>) {
  %e = tensor.empty() : tensor<8xf32>
  %whole = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = math.exp %in : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %first = tensor.extract_slice %whole[0] [4] [1] : tensor<8xf32> to tensor<4xf32>
  %part = tensor.extract_slice %x[0] [4] [1] : tensor<8xf32> to tensor<4xf32>
  %changed = tensor.insert_slice %part into %whole[2] [4] [1] : tensor<4xf32> into tensor<8xf32>
  return %changed, %first : tensor<8xf32>, tensor<4xf32>
}

// -----

// Both branches write over the same tensor: only one of them runs.
// CHECK-LABEL: func.func @branches
// CHECK: %[[A:.*]] = memref.alloc
// CHECK: linalg.fill {{.*}} outs(%[[A]]
// CHECK-NOT: memref.alloc
// CHECK: scf.if
// CHECK: memref.store %{{.*}}, %[[A]]
// CHECK: else
// CHECK: memref.store %{{.*}}, %[[A]]
func.func @branches(%c: i1, %f: f32) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty() : tensor<4xf32>
  %a = linalg.fill ins(%f : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %r = scf.if %c -> tensor<4xf32> {
    %y = tensor.insert %f into %a[%c0] : tensor<4xf32>
    scf.yield %y : tensor<4xf32>
  } else {
    %z = tensor.insert %f into %a[%c1] : tensor<4xf32>
    scf.yield %z : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// -----

// What lies outside of a loop is needed in each of its iterations: writing over it in the first would change the second.
// CHECK-LABEL: func.func @loop
// CHECK: %[[A:.*]] = memref.alloc
// CHECK: linalg.fill {{.*}} outs(%[[A]]
// CHECK: scf.for
// CHECK: %[[B:.*]] = memref.alloc
// CHECK: memref.copy %[[A]], %[[B]]
// CHECK: memref.store %{{.*}}, %[[B]]
func.func @loop(%f: f32, %n: index) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty() : tensor<4xf32>
  %a = linalg.fill ins(%f : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %e2 = tensor.empty() : tensor<4xf32>
  %s = linalg.fill ins(%f : f32) outs(%e2 : tensor<4xf32>) -> tensor<4xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%it = %s) -> tensor<4xf32> {
    %v = tensor.extract %it[%i] : tensor<4xf32>
    %y = tensor.insert %v into %a[%i] : tensor<4xf32>
    %w = tensor.extract %y[%c0] : tensor<4xf32>
    %t = tensor.insert %w into %it[%i] : tensor<4xf32>
    scf.yield %t : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>

// A part of a reshape counts in other coordinates: rows 2 and 3 of 4 x 2 are row 1 of 2 x 4, which is read after
// row 1 is written, so that is written to a copy.
// CHECK-LABEL: func.func @part_of_reshape
// CHECK: linalg.generic {{.*}} outs(%[[A:.*]] : memref<2x4xf32>)
// CHECK: %[[COPY:.*]] = memref.alloc
// CHECK: memref.copy %[[A]], %[[COPY]]
// CHECK: %[[ROW:.*]] = memref.subview %[[COPY]][1, 0] [1, 4] [1, 1]
// CHECK: memref.copy %arg1, %[[ROW]]
// CHECK: linalg.generic
func.func @part_of_reshape(%x: tensor<2x4xf32>, %row: tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2x2xf32>) {
  %e = tensor.empty() : tensor<2x4xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<2x4xf32>) outs(%e : tensor<2x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.addf %in, %in : f32
    linalg.yield %s : f32
  } -> tensor<2x4xf32>
  %flat = tensor.collapse_shape %a [[0, 1]] : tensor<2x4xf32> into tensor<8xf32>
  %rows = tensor.expand_shape %flat [[0, 1]] output_shape [4, 2] : tensor<8xf32> into tensor<4x2xf32>
  %part = tensor.extract_slice %rows[2, 0] [2, 2] [1, 1] : tensor<4x2xf32> to tensor<2x2xf32>
  %written = tensor.insert_slice %row into %a[1, 0] [1, 4] [1, 1] : tensor<4xf32> into tensor<2x4xf32>
  %f = tensor.empty() : tensor<2x2xf32>
  %read = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%part : tensor<2x2xf32>) outs(%f : tensor<2x2xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = math.exp %in : f32
    linalg.yield %s : f32
  } -> tensor<2x2xf32>
  return %written, %read : tensor<2x4xf32>, tensor<2x2xf32>
}
