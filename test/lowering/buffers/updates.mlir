// Results that are the new value of an argument (`dist.updates`) are put into its memory, after all reads of the old one.
//
// RUN: dist-opt %s --dist-bufferize --canonicalize --split-input-file --verify-diagnostics | FileCheck %s
// RUN: dist-opt %s --dist-bufferize-plainly --canonicalize --split-input-file --verify-diagnostics | FileCheck %s --check-prefix=PLAIN

#id = affine_map<(d0) -> (d0)>

// The new value is computed where the old one is read; the function has one buffer for a result, which is the second.
// CHECK: module attributes {rt.num_results = 1 : i64, rt.result_numbers = array<i64: 1>}
// CHECK-LABEL: func.func @step
// CHECK-SAME: %[[W:[a-z0-9]+]]: memref<4xf32> {dist.updated}, %[[G:[a-z0-9]+]]: memref<4xf32>, %[[OUT:[a-z0-9]+]]: memref<4xf32>)
// CHECK-NOT: memref.alloc
// CHECK: linalg.generic {{.*}} ins(%[[W]]{{.*}} outs(%[[OUT]]
// CHECK: linalg.generic {{.*}} ins(%[[W]], %[[G]]{{.*}} outs(%[[W]]
// CHECK-NOT: copy
// CHECK: return
// PLAIN: module attributes {rt.num_results = 1 : i64, rt.result_numbers = array<i64: 1>}
// PLAIN-LABEL: func.func @step
// PLAIN-SAME: %[[W:[a-z0-9]+]]: memref<4xf32> {dist.updated}, %[[G:[a-z0-9]+]]: memref<4xf32>, %[[OUT:[a-z0-9]+]]: memref<4xf32>)
// PLAIN: linalg.generic {{.*}} outs(%[[LOSS:.*]] : memref<4xf32>)
// PLAIN: linalg.generic {{.*}} outs(%[[NEW:.*]] : memref<4xf32>)
// PLAIN: memref.copy %[[LOSS]], %[[OUT]]
// PLAIN-NEXT: memref.copy %[[NEW]], %[[W]]
func.func @step(%w: tensor<4xf32>, %g: tensor<4xf32>) -> (tensor<4xf32> {dist.updates = 0 : i64}, tensor<4xf32>) {
  %e = tensor.empty() : tensor<4xf32>
  %loss = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%w : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = math.exp %in : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %new = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%w, %g : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%in: f32, %in2: f32, %out: f32):
    %s = arith.subf %in, %in2 : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  return %new, %loss : tensor<4xf32>, tensor<4xf32>
}

// -----

#id = affine_map<(d0) -> (d0)>

// The old value is read after the new one is known, which therefore waits.
// CHECK-LABEL: func.func @read_later
// CHECK-SAME: %[[W:[a-z0-9]+]]: memref<4xf32> {dist.updated}, %[[OUT:[a-z0-9]+]]: memref<4xf32>)
// CHECK: linalg.generic {{.*}} ins(%[[W]]{{.*}} outs(%[[NEW:.*]] : memref<4xf32>)
// CHECK: linalg.generic {{.*}} ins(%[[NEW]], %[[W]]{{.*}} outs(%[[OUT]]
// CHECK: copy{{.*}}%[[NEW]]{{.*}}%[[W]]
func.func @read_later(%w: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32> {dist.updates = 0 : i64}) {
  %e = tensor.empty() : tensor<4xf32>
  %new = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%w : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = math.exp %in : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %o = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%new, %w : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%in: f32, %in2: f32, %out: f32):
    %s = arith.subf %in, %in2 : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  return %o, %new : tensor<4xf32>, tensor<4xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#transposed = affine_map<(d0, d1) -> (d1, d0)>

// An element of the new value is made of another of the old one: not in its place.
// CHECK-LABEL: func.func @transpose
// CHECK-SAME: %[[W:[a-z0-9]+]]: memref<4x4xf32> {dist.updated})
// CHECK: linalg.generic {{.*}} ins(%[[W]]{{.*}} outs(%[[NEW:alloc.*]] : memref<4x4xf32>)
// CHECK: memref.copy %[[NEW]], %[[W]]
func.func @transpose(%w: tensor<4x4xf32>) -> (tensor<4x4xf32> {dist.updates = 0 : i64}) {
  %e = tensor.empty() : tensor<4x4xf32>
  %new = linalg.generic {indexing_maps = [#transposed, #id], iterator_types = ["parallel", "parallel"]} ins(%w : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.negf %in : f32
    linalg.yield %s : f32
  } -> tensor<4x4xf32>
  return %new : tensor<4x4xf32>
}

// -----

// Two arguments change places: one of them is kept beside.
// CHECK-LABEL: func.func @swap
// CHECK-SAME: %[[A:[a-z0-9]+]]: memref<4xf32> {dist.updated}, %[[B:[a-z0-9]+]]: memref<4xf32> {dist.updated})
// CHECK: linalg.copy ins(%[[B]]{{.*}} outs(%[[KEPT:.*]] : memref<4xf32>)
// CHECK: linalg.copy ins(%[[A]]{{.*}} outs(%[[B]]
// CHECK: memref.copy %[[KEPT]], %[[A]]
// PLAIN-LABEL: func.func @swap
// PLAIN-SAME: %[[A:[a-z0-9]+]]: memref<4xf32> {dist.updated}, %[[B:[a-z0-9]+]]: memref<4xf32> {dist.updated})
// PLAIN: memref.copy %[[B]], %[[FIRST:.*]] :
// PLAIN: memref.copy %[[A]], %[[SECOND:.*]] :
// PLAIN: memref.copy %[[FIRST]], %[[A]]
// PLAIN: memref.copy %[[SECOND]], %[[B]]
func.func @swap(%a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32> {dist.updates = 0 : i64}, tensor<4xf32> {dist.updates = 1 : i64}) {
  return %b, %a : tensor<4xf32>, tensor<4xf32>
}

// -----

#id = affine_map<(d0) -> (d0)>

// Output and update at once: both have it. What reads it does so before it is put into its places.
// CHECK-LABEL: func.func @both
// CHECK-SAME: %[[W:[a-z0-9]+]]: memref<4xf32> {dist.updated}, %[[OUT:[a-z0-9]+]]: memref<4xf32>)
// CHECK: linalg.generic {{.*}} ins(%[[W]]{{.*}} outs(%[[NEW:.*]] : memref<4xf32>)
// CHECK: linalg.copy ins(%[[NEW]]{{.*}} outs(%[[W]]
// CHECK: linalg.copy ins(%[[NEW]]{{.*}} outs(%[[OUT]]
func.func @both(%w: tensor<4xf32>) -> (tensor<4xf32> {dist.updates = 0 : i64}, tensor<4xf32>) {
  %e = tensor.empty() : tensor<4xf32>
  %new = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%w : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = math.exp %in : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  return %new, %new : tensor<4xf32>, tensor<4xf32>
}

// -----

// The old value goes out, and a new one comes in.
// CHECK-LABEL: func.func @old_and_new
// CHECK-SAME: %[[W:[a-z0-9]+]]: memref<4xf32> {dist.updated}, %[[X:[a-z0-9]+]]: memref<4xf32>, %[[OUT:[a-z0-9]+]]: memref<4xf32>)
// CHECK: linalg.copy ins(%[[W]]{{.*}} outs(%[[OUT]]
// CHECK: copy{{.*}}%[[W]]
// PLAIN-LABEL: func.func @old_and_new
// PLAIN-SAME: %[[W:[a-z0-9]+]]: memref<4xf32> {dist.updated}, %[[X:[a-z0-9]+]]: memref<4xf32>, %[[OUT:[a-z0-9]+]]: memref<4xf32>)
// PLAIN: memref.copy %[[W]], %[[OUT]]
// PLAIN: memref.copy %{{.*}}, %[[W]]
func.func @old_and_new(%w: tensor<4xf32>, %x: tensor<4xf32>) -> (tensor<4xf32> {dist.updates = 0 : i64}, tensor<4xf32>) {
  return %x, %w : tensor<4xf32>, tensor<4xf32>
}

// -----

// What does not change is not copied.
// CHECK-LABEL: func.func @unchanged
// CHECK-NEXT: return
func.func @unchanged(%w: tensor<4xf32>) -> (tensor<4xf32> {dist.updates = 0 : i64}) {
  return %w : tensor<4xf32>
}

// -----

// A new value that may be either of two old ones: one of them is read from a copy, so that no memory is of both.
// CHECK-LABEL: func.func @either
// CHECK-SAME: %[[C:[a-z0-9]+]]: i1, %[[A:[a-z0-9]+]]: memref<4xi32> {dist.updated}, %[[B:[a-z0-9]+]]: memref<4xi32> {dist.updated})
// CHECK: linalg.copy ins(%[[B]]{{.*}} outs(%[[OLD:.*]] : memref<4xi32>)
// CHECK: arith.select %[[C]], %[[A]], %[[OLD]]
// CHECK: arith.select %[[C]], %[[OLD]], %[[A]]
func.func @either(%c: i1, %a: tensor<4xi32>, %b: tensor<4xi32>) -> (tensor<4xi32> {dist.updates = 1 : i64}, tensor<4xi32> {dist.updates = 2 : i64}) {
  %0 = arith.select %c, %a, %b : tensor<4xi32>
  %1 = arith.select %c, %b, %a : tensor<4xi32>
  return %0, %1 : tensor<4xi32>, tensor<4xi32>
}

// -----

// A new value that may be one of two old ones, of which one stays as it is.
// CHECK-LABEL: func.func @read_only
// CHECK-SAME: %[[C:[a-z0-9]+]]: i1, %[[A:[a-z0-9]+]]: memref<4xi32> {dist.updated}, %[[B:[a-z0-9]+]]: memref<4xi32>)
// CHECK: linalg.copy ins(%[[A]]{{.*}} outs(%[[OLD:.*]] : memref<4xi32>)
// CHECK: arith.select %[[C]], %[[OLD]], %[[B]]
// CHECK: linalg.copy ins(%{{.*}} outs(%[[A]]
func.func @read_only(%c: i1, %a: tensor<4xi32>, %b: tensor<4xi32>) -> (tensor<4xi32> {dist.updates = 1 : i64}) {
  %0 = arith.select %c, %a, %b : tensor<4xi32>
  return %0 : tensor<4xi32>
}
