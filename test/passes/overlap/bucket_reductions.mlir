// Small reductions that nothing waits for meanwhile are one call; bits stay, so what a call kept apart stays apart.
// RUN: dist-opt %s --split-input-file --dist-bucket-reductions='machine=cpu link={latency=20us,bandwidth=1GB/s}' | FileCheck %s
// RUN: dist-opt %s --split-input-file --dist-bucket-reductions='machine=cpu report=true' -o /dev/null 2>&1 | FileCheck %s --check-prefix=SAID
// RUN: not dist-opt %s --split-input-file --dist-bucket-reductions 2>&1 | FileCheck %s --check-prefix=WHAT
// SAID: remark: 3 reductions are done in fewer calls
// WHAT: error: --dist-bucket-reductions needs to know what on: machine=NAME or machine=FILE.json

dist.mesh @m ["dp" = 2]

// Views of a result wait with it; one of another kind, and a large one, are calls of their own.
// CHECK-LABEL: func.func @main
// CHECK: dist.fence
// CHECK: %[[LARGE:.*]] = dist.all_reduce %{{.*}} sum over "dp" : tensor<512x512xf32>
// CHECK: dist.fence
// CHECK: %[[MOST:.*]] = dist.all_reduce %{{.*}} max over "dp" : tensor<8xf32>
// CHECK: %[[B:.*]] = tensor.collapse_shape %{{.*}} {{\[}}[0, 1]] : tensor<4x4xf32> into tensor<16xf32>
// CHECK: %[[C:.*]] = tensor.expand_shape %{{.*}} [] output_shape [1] : tensor<f32> into tensor<1xf32>
// CHECK: %[[ALL:.*]] = tensor.concat dim(0) %{{.*}}, %[[B]], %[[C]]
// CHECK: %[[SUM:.*]] = dist.all_reduce %[[ALL]] sum over "dp" {dist.scope = "h"} : tensor<25xf32>
// CHECK: %[[A:.*]] = tensor.extract_slice %[[SUM]][0] [8] [1]
// CHECK: %[[FLAT:.*]] = tensor.extract_slice %[[SUM]][8] [16] [1]
// CHECK: %[[B:.*]] = tensor.expand_shape %[[FLAT]] {{\[}}[0, 1]] output_shape [4, 4]
// CHECK: %[[LAST:.*]] = tensor.extract_slice %[[SUM]][24] [1] [1]
// CHECK: %[[C:.*]] = tensor.collapse_shape %[[LAST]] []
// CHECK: %[[VIEW:.*]] = tensor.expand_shape %[[A]]
// CHECK: return %[[VIEW]], %[[LARGE]], %[[B]], %[[MOST]], %[[C]]
func.func @main(%a: tensor<8xf32>, %l: tensor<512x512xf32>, %b: tensor<4x4xf32>, %c: tensor<f32>)
    -> (tensor<2x4xf32>, tensor<512x512xf32>, tensor<4x4xf32>, tensor<8xf32>, tensor<f32>) {
  %0 = dist.all_reduce %a sum over "dp" {dist.scope = "h.0"} : tensor<8xf32>
  %v = tensor.expand_shape %0 [[0, 1]] output_shape [2, 4] : tensor<8xf32> into tensor<2x4xf32>
  %1 = dist.all_reduce %l sum over "dp" : tensor<512x512xf32>
  %2 = dist.all_reduce %b sum over "dp" {dist.scope = "h.1.ln"} : tensor<4x4xf32>
  %3 = dist.all_reduce %a max over "dp" : tensor<8xf32>
  %4 = dist.all_reduce %c sum over "dp" : tensor<f32>
  return %v, %1, %2, %3, %4 : tensor<2x4xf32>, tensor<512x512xf32>, tensor<4x4xf32>, tensor<8xf32>, tensor<f32>
}

// -----

dist.mesh @m ["dp" = 2]

// The second needs the first.
// CHECK-LABEL: func.func @follows
// CHECK: dist.all_reduce %{{.*}} sum over "dp" : tensor<8xf32>
// CHECK: dist.all_reduce %{{.*}} sum over "dp" : tensor<8xf32>
func.func @follows(%a: tensor<8xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %0 = dist.all_reduce %a sum over "dp" : tensor<8xf32>
  %1 = linalg.exp ins(%0 : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %2 = dist.all_reduce %1 sum over "dp" : tensor<8xf32>
  return %2 : tensor<8xf32>
}

// -----

dist.mesh @m ["dp" = 2] {dist.overlap = {h = false}}

// A schedule speaks of this module's.
// CHECK-LABEL: func.func @asked
// CHECK-COUNT-2: dist.all_reduce
func.func @asked(%a: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = dist.all_reduce %a sum over "dp" {dist.scope = "h.0"} : tensor<8xf32>
  %1 = dist.all_reduce %b sum over "dp" {dist.scope = "h.1"} : tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}
