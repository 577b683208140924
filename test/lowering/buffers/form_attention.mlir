// Attention is recognised by what is computed: masks that depend only on positions become part of the body, others operands.
//
// RUN: dist-opt %s --dist-decompose-ops --canonicalize --cse --dist-form-attention --split-input-file | FileCheck %s

// CHECK: rt.attentions = 1
// CHECK-LABEL: func @causal
// CHECK-NOT: linalg
// CHECK: dist.attention(%arg0, %arg1, %arg2 : {{.*}}) with(%arg3 : tensor<2x6xf32>) outs({{.*}}) maps [#{{.*}}, #{{.*}}, #{{.*}}, #{{.*}}, #{{.*}}] {
// CHECK-NEXT: ^bb0(%[[S:[^:]*]]: f32, %[[A:[^:]*]]: f32, %{{[^:]*}}: index, %{{[^:]*}}: index, %[[I:[^:]*]]: index, %[[J:[^:]*]]: index):
// CHECK-DAG: %[[SEEN:.*]] = arith.cmpi sle, %[[J]], %[[I]] : index
// CHECK-DAG: %[[SUM:.*]] = arith.addf %[[S]], %[[A]] : f32
// CHECK: %[[X:.*]] = arith.select %[[SEEN]], %[[SUM]], %{{.*}} : f32
// CHECK: dist.attention_yield %[[X]] : f32
// CHECK-NOT: linalg
func.func @causal(%q: tensor<2x3x5x4xf32>, %k: tensor<2x3x6x4xf32>, %v: tensor<2x6x3x8xf32>, %pad: tensor<2x6xf32>) -> tensor<2x3x5x8xf32> {
  %zero = arith.constant 0.0 : f32
  %inf = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<2x3x5x6xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2x3x5x6xf32>) -> tensor<2x3x5x6xf32>
  %s = linalg.contract indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>,
                                        affine_map<(b, h, i, j, d) -> (b, h, i, j)>]
      ins(%q, %k : tensor<2x3x5x4xf32>, tensor<2x3x6x4xf32>) outs(%z : tensor<2x3x5x6xf32>) -> tensor<2x3x5x6xf32>
  %padded = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, j)>, affine_map<(b, h, i, j) -> (b, h, i, j)>],
                            iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s, %pad : tensor<2x3x5x6xf32>, tensor<2x6xf32>) outs(%e : tensor<2x3x5x6xf32>) {
  ^bb0(%a: f32, %m: f32, %out: f32):
    %1 = arith.addf %a, %m : f32
    linalg.yield %1 : f32
  } -> tensor<2x3x5x6xf32>
  %x = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i, j)>],
                       iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%padded : tensor<2x3x5x6xf32>) outs(%e : tensor<2x3x5x6xf32>) {
  ^bb0(%a: f32, %out: f32):
    %i = linalg.index 2 : index
    %j = linalg.index 3 : index
    %seen = arith.cmpi sle, %j, %i : index
    %1 = arith.select %seen, %a, %inf : f32
    linalg.yield %1 : f32
  } -> tensor<2x3x5x6xf32>
  %p = linalg.softmax dimension(3) ins(%x : tensor<2x3x5x6xf32>) outs(%e : tensor<2x3x5x6xf32>) -> tensor<2x3x5x6xf32>
  %eo = tensor.empty() : tensor<2x3x5x8xf32>
  %zo = linalg.fill ins(%zero : f32) outs(%eo : tensor<2x3x5x8xf32>) -> tensor<2x3x5x8xf32>
  %o = linalg.contract indexing_maps = [affine_map<(b, h, i, j, e) -> (b, h, i, j)>, affine_map<(b, h, i, j, e) -> (b, j, h, e)>,
                                        affine_map<(b, h, i, j, e) -> (b, h, i, e)>]
      ins(%p, %v : tensor<2x3x5x6xf32>, tensor<2x6x3x8xf32>) outs(%zo : tensor<2x3x5x8xf32>) -> tensor<2x3x5x8xf32>
  return %o : tensor<2x3x5x8xf32>
}

// -----

// The weights are a result too: they are needed as a whole.
// CHECK: rt.attentions = 0
// CHECK-LABEL: func @weights
// CHECK-NOT: dist.attention
func.func @weights(%q: tensor<5x4xf32>, %k: tensor<6x4xf32>, %v: tensor<6x8xf32>) -> (tensor<5x8xf32>, tensor<5x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5x6xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<5x6xf32>) -> tensor<5x6xf32>
  %s = linalg.contract indexing_maps = [affine_map<(i, j, d) -> (i, d)>, affine_map<(i, j, d) -> (j, d)>, affine_map<(i, j, d) -> (i, j)>]
      ins(%q, %k : tensor<5x4xf32>, tensor<6x4xf32>) outs(%z : tensor<5x6xf32>) -> tensor<5x6xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<5x6xf32>) outs(%e : tensor<5x6xf32>) -> tensor<5x6xf32>
  %eo = tensor.empty() : tensor<5x8xf32>
  %zo = linalg.fill ins(%zero : f32) outs(%eo : tensor<5x8xf32>) -> tensor<5x8xf32>
  %o = linalg.contract indexing_maps = [affine_map<(i, j, e) -> (i, j)>, affine_map<(i, j, e) -> (j, e)>, affine_map<(i, j, e) -> (i, e)>]
      ins(%p, %v : tensor<5x6xf32>, tensor<6x8xf32>) outs(%zo : tensor<5x8xf32>) -> tensor<5x8xf32>
  return %o, %p : tensor<5x8xf32>, tensor<5x6xf32>
}

// -----

// Softmax over the queries is another function.
// CHECK: rt.attentions = 0
// CHECK-LABEL: func @over_queries
// CHECK-NOT: dist.attention
func.func @over_queries(%q: tensor<5x4xf32>, %k: tensor<6x4xf32>, %v: tensor<6x8xf32>) -> tensor<5x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5x6xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<5x6xf32>) -> tensor<5x6xf32>
  %s = linalg.contract indexing_maps = [affine_map<(i, j, d) -> (i, d)>, affine_map<(i, j, d) -> (j, d)>, affine_map<(i, j, d) -> (i, j)>]
      ins(%q, %k : tensor<5x4xf32>, tensor<6x4xf32>) outs(%z : tensor<5x6xf32>) -> tensor<5x6xf32>
  %p = linalg.softmax dimension(0) ins(%s : tensor<5x6xf32>) outs(%e : tensor<5x6xf32>) -> tensor<5x6xf32>
  %eo = tensor.empty() : tensor<5x8xf32>
  %zo = linalg.fill ins(%zero : f32) outs(%eo : tensor<5x8xf32>) -> tensor<5x8xf32>
  %o = linalg.contract indexing_maps = [affine_map<(i, j, e) -> (i, j)>, affine_map<(i, j, e) -> (j, e)>, affine_map<(i, j, e) -> (i, e)>]
      ins(%p, %v : tensor<5x6xf32>, tensor<6x8xf32>) outs(%zo : tensor<5x8xf32>) -> tensor<5x8xf32>
  return %o : tensor<5x8xf32>
}

// -----

// Dropout of weights by a mask: which are kept is said by the body, and what they are multiplied by, the result is.
// CHECK: rt.attentions = 1
// CHECK-LABEL: func @dropped
// CHECK: %[[O:.*]] = dist.attention(%arg0, %arg1, %arg2 : {{.*}}) with(%arg3 : tensor<5x6xi1>)
// CHECK-NEXT: ^bb0(%[[S:[^:]*]]: f32, %[[KEPT:[^:]*]]: i1, %{{[^:]*}}: index, %{{[^:]*}}: index):
// CHECK-NEXT: dist.attention_yield %[[S]], %[[KEPT]] : f32, i1
// CHECK: linalg.generic {{.*}} ins(%[[O]] : tensor<5x8xf32>)
// CHECK: arith.mulf %{{.*}}, %cst
func.func @dropped(%q: tensor<5x4xf32>, %k: tensor<6x4xf32>, %v: tensor<6x8xf32>, %m: tensor<5x6xi1>) -> tensor<5x8xf32> {
  %zero = arith.constant 0.0 : f32
  %scale = arith.constant 1.25 : f32
  %e = tensor.empty() : tensor<5x6xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<5x6xf32>) -> tensor<5x6xf32>
  %s = linalg.contract indexing_maps = [affine_map<(i, j, d) -> (i, d)>, affine_map<(i, j, d) -> (j, d)>, affine_map<(i, j, d) -> (i, j)>]
      ins(%q, %k : tensor<5x4xf32>, tensor<6x4xf32>) outs(%z : tensor<5x6xf32>) -> tensor<5x6xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<5x6xf32>) outs(%e : tensor<5x6xf32>) -> tensor<5x6xf32>
  %d = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%p, %m : tensor<5x6xf32>, tensor<5x6xi1>) outs(%e : tensor<5x6xf32>) {
  ^bb0(%a: f32, %kept: i1, %out: f32):
    %1 = arith.mulf %a, %scale : f32
    %2 = arith.select %kept, %1, %zero : f32
    linalg.yield %2 : f32
  } -> tensor<5x6xf32>
  %eo = tensor.empty() : tensor<5x8xf32>
  %zo = linalg.fill ins(%zero : f32) outs(%eo : tensor<5x8xf32>) -> tensor<5x8xf32>
  %o = linalg.contract indexing_maps = [affine_map<(i, e, j) -> (i, j)>, affine_map<(i, e, j) -> (j, e)>, affine_map<(i, e, j) -> (i, e)>]
      ins(%d, %v : tensor<5x6xf32>, tensor<6x8xf32>) outs(%zo : tensor<5x8xf32>) -> tensor<5x8xf32>
  return %o : tensor<5x8xf32>
}

// -----

// What is dropped by the score itself is no dropout.
// CHECK: rt.attentions = 0
// CHECK-LABEL: func @by_score
func.func @by_score(%q: tensor<5x4xf32>, %k: tensor<6x4xf32>, %v: tensor<6x8xf32>) -> tensor<5x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5x6xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<5x6xf32>) -> tensor<5x6xf32>
  %s = linalg.contract indexing_maps = [affine_map<(i, j, d) -> (i, d)>, affine_map<(i, j, d) -> (j, d)>, affine_map<(i, j, d) -> (i, j)>]
      ins(%q, %k : tensor<5x4xf32>, tensor<6x4xf32>) outs(%z : tensor<5x6xf32>) -> tensor<5x6xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<5x6xf32>) outs(%e : tensor<5x6xf32>) -> tensor<5x6xf32>
  %d = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%p, %s : tensor<5x6xf32>, tensor<5x6xf32>) outs(%e : tensor<5x6xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %kept = arith.cmpf oge, %b, %zero : f32
    %1 = arith.select %kept, %a, %zero : f32
    linalg.yield %1 : f32
  } -> tensor<5x6xf32>
  %eo = tensor.empty() : tensor<5x8xf32>
  %zo = linalg.fill ins(%zero : f32) outs(%eo : tensor<5x8xf32>) -> tensor<5x8xf32>
  %o = linalg.contract indexing_maps = [affine_map<(i, e, j) -> (i, j)>, affine_map<(i, e, j) -> (j, e)>, affine_map<(i, e, j) -> (i, e)>]
      ins(%d, %v : tensor<5x6xf32>, tensor<6x8xf32>) outs(%zo : tensor<5x8xf32>) -> tensor<5x8xf32>
  return %o : tensor<5x8xf32>
}
