// RUN: dist-opt %s --split-input-file --dist-recompute | FileCheck %s
// RUN: dist-opt %s --split-input-file --dist-recompute=what=asked | FileCheck %s --check-prefix=ASKED

// What works element by element is computed again, just before its first reader in backward. Of values of as many bytes
// that is kept from which least is computed. Nothing is done of its own accord if only what is asked for is wanted.

// CHECK-LABEL: func.func @elements
// CHECK: %[[H:.*]] = linalg.matmul
// CHECK: %[[A:.*]] = math.tanh %[[H]] : tensor<8x16xf32>
// CHECK: %[[B:.*]] = math.exp %[[A]] : tensor<8x16xf32>
// CHECK: %[[OUT:.*]] = linalg.matmul ins(%[[B]]
// CHECK: %[[FIRST:.*]] = arith.negf %arg3 {dist.backward}
// CHECK-NEXT: %[[KEPT:.*]] = dist.optimization_barrier %[[A]] after %[[FIRST]] : tensor<8x16xf32> after tensor<8x16xf32>
// CHECK-NEXT: %[[B2:.*]] = math.exp %[[KEPT]] {dist.backward, dist.recomputed}
// CHECK-NEXT: %[[D1:.*]] = arith.mulf %[[B2]], %[[FIRST]] {dist.backward}
// CHECK-NEXT: %[[D2:.*]] = arith.mulf %[[A]], %[[D1]] {dist.backward}
// CHECK-NEXT: return %[[OUT]], %[[D2]]

// ASKED-LABEL: func.func @elements
// ASKED-NOT: dist.optimization_barrier
// ASKED: return

func.func @elements(%x: tensor<8x16xf32>, %w: tensor<16x16xf32>, %v: tensor<16x4xf32>, %dy: tensor<8x16xf32>)
    -> (tensor<8x4xf32>, tensor<8x16xf32>) {
  %zero = arith.constant dense<0.0> : tensor<8x16xf32>
  %zero2 = arith.constant dense<0.0> : tensor<8x4xf32>
  %h = linalg.matmul ins(%x, %w : tensor<8x16xf32>, tensor<16x16xf32>) outs(%zero : tensor<8x16xf32>) -> tensor<8x16xf32>
  %a = math.tanh %h : tensor<8x16xf32>
  %b = math.exp %a : tensor<8x16xf32>
  %out = linalg.matmul ins(%b, %v : tensor<8x16xf32>, tensor<16x4xf32>) outs(%zero2 : tensor<8x4xf32>) -> tensor<8x4xf32>
  %d0 = arith.negf %dy {dist.backward} : tensor<8x16xf32>
  %d1 = arith.mulf %b, %d0 {dist.backward} : tensor<8x16xf32>
  %d2 = arith.mulf %a, %d1 {dist.backward} : tensor<8x16xf32>
  return %out, %d2 : tensor<8x4xf32>, tensor<8x16xf32>
}

// -----

// Of what backward reads the product is kept, as two values are made of it; what is returned is there anyhow, and a sum
// is not repeated.

// CHECK-LABEL: func.func @kept
// CHECK: %[[H:.*]] = linalg.matmul
// CHECK: %[[A:.*]] = math.tanh %[[H]]
// CHECK: %[[SUM:.*]] = linalg.reduce
// CHECK: %[[D0:.*]] = arith.mulf %[[A]], %arg2 {dist.backward}
// CHECK-NEXT: arith.mulf %[[SUM]], %arg3 {dist.backward}
// CHECK-NEXT: %[[KEPT:.*]] = dist.optimization_barrier %[[H]] after %[[D0]]
// CHECK-NEXT: %[[E:.*]] = math.exp %[[KEPT]] {dist.backward, dist.recomputed}
// CHECK-NEXT: %[[D2:.*]] = arith.mulf %[[E]], %[[D0]] {dist.backward}
// CHECK-NEXT: %[[C:.*]] = math.cos %[[KEPT]] {dist.backward, dist.recomputed}
// CHECK-NEXT: arith.mulf %[[C]], %[[D2]] {dist.backward}
// CHECK-NOT: dist.recomputed
// CHECK: return

func.func @kept(%x: tensor<8x16xf32>, %w: tensor<16x16xf32>, %dy: tensor<8x16xf32>, %ds: tensor<8xf32>)
    -> (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8xf32>, tensor<8x16xf32>) {
  %zero = arith.constant dense<0.0> : tensor<8x16xf32>
  %h = linalg.matmul ins(%x, %w : tensor<8x16xf32>, tensor<16x16xf32>) outs(%zero : tensor<8x16xf32>) -> tensor<8x16xf32>
  %a = math.tanh %h : tensor<8x16xf32>
  %e = math.exp %h : tensor<8x16xf32>
  %c = math.cos %h : tensor<8x16xf32>
  %out = arith.addf %e, %c : tensor<8x16xf32>
  %none = arith.constant dense<0.0> : tensor<8xf32>
  %sum = linalg.reduce { arith.addf } ins(%out : tensor<8x16xf32>) outs(%none : tensor<8xf32>) dimensions = [1]
  %d0 = arith.mulf %a, %dy {dist.backward} : tensor<8x16xf32>
  %d1 = arith.mulf %sum, %ds {dist.backward} : tensor<8xf32>
  %d2 = arith.mulf %e, %d0 {dist.backward} : tensor<8x16xf32>
  %d3 = arith.mulf %c, %d2 {dist.backward} : tensor<8x16xf32>
  return %a, %out, %d1, %d3 : tensor<8x16xf32>, tensor<8x16xf32>, tensor<8xf32>, tensor<8x16xf32>
}

// -----

// The modules are computed again, products too, from what they read: one module at a time, for what it hands on is kept.
// Of that others read, and what is as large, the last is kept.

// ASKED-LABEL: func.func @modules
// ASKED: linalg.matmul {{.*}} ins(%arg0, %arg1
// ASKED: %[[Y0:.*]] = math.tanh
// ASKED: linalg.matmul {{.*}} ins(%[[Y0]], %arg1
// ASKED: %[[Y1:.*]] = math.tanh
// ASKED: math.exp %[[Y1]]
// ASKED: %[[D:.*]] = arith.mulf %[[Y1]], %arg2 {dist.backward, dist.scope = "head"}
// ASKED-NEXT: %[[KEPT:.*]] = dist.optimization_barrier %[[Y0]] after %[[D]]
// ASKED-NEXT: %[[W:.*]] = dist.optimization_barrier %arg1 after %[[D]]
// ASKED-NEXT: %[[H1:.*]] = linalg.matmul {dist.backward, dist.checkpoint = "h.1", dist.recomputed, dist.scope = "h.1.fc"} ins(%[[KEPT]], %[[W]]
// ASKED-NEXT: %[[A1:.*]] = math.exp %[[H1]] {dist.backward, dist.checkpoint = "h.1", dist.recomputed, dist.scope = "h.1"}
// ASKED-NEXT: %[[D1:.*]] = arith.mulf %[[A1]], %[[D]]
// ASKED-NEXT: %[[D2:.*]] = arith.mulf %[[H1]], %[[D1]]
// ASKED-NEXT: %[[D3:.*]] = arith.mulf %[[Y0]], %[[D2]]
// ASKED-NEXT: %[[X:.*]] = dist.optimization_barrier %arg0 after %[[D3]]
// ASKED-NEXT: %[[H0:.*]] = linalg.matmul {{.*}}dist.recomputed{{.*}} ins(%[[X]], %[[W]]
// ASKED-NEXT: arith.mulf %[[H0]], %[[D3]]
// ASKED-NOT: dist.recomputed
// ASKED: return

func.func @modules(%x: tensor<8x16xf32>, %w: tensor<16x16xf32>, %dy: tensor<8x16xf32>)
    -> (tensor<8x16xf32>, tensor<8x16xf32>) {
  %zero = arith.constant dense<0.0> : tensor<8x16xf32>
  %h0 = linalg.matmul {dist.checkpoint = "h.0", dist.scope = "h.0.fc"} ins(%x, %w : tensor<8x16xf32>, tensor<16x16xf32>) outs(%zero : tensor<8x16xf32>) -> tensor<8x16xf32>
  %y0 = math.tanh %h0 {dist.checkpoint = "h.0", dist.scope = "h.0"} : tensor<8x16xf32>
  %h1 = linalg.matmul {dist.checkpoint = "h.1", dist.scope = "h.1.fc"} ins(%y0, %w : tensor<8x16xf32>, tensor<16x16xf32>) outs(%zero : tensor<8x16xf32>) -> tensor<8x16xf32>
  %a1 = math.exp %h1 {dist.checkpoint = "h.1", dist.scope = "h.1"} : tensor<8x16xf32>
  %y1 = math.tanh %a1 {dist.checkpoint = "h.1", dist.scope = "h.1"} : tensor<8x16xf32>
  %out = math.exp %y1 {dist.scope = "head"} : tensor<8x16xf32>
  %d = arith.mulf %y1, %dy {dist.backward, dist.scope = "head"} : tensor<8x16xf32>
  %d1 = arith.mulf %a1, %d {dist.backward, dist.checkpoint = "h.1", dist.scope = "h.1"} : tensor<8x16xf32>
  %d2 = arith.mulf %h1, %d1 {dist.backward, dist.checkpoint = "h.1", dist.scope = "h.1"} : tensor<8x16xf32>
  %d3 = arith.mulf %y0, %d2 {dist.backward, dist.checkpoint = "h.1", dist.scope = "h.1"} : tensor<8x16xf32>
  %d4 = arith.mulf %h0, %d3 {dist.backward, dist.checkpoint = "h.0", dist.scope = "h.0"} : tensor<8x16xf32>
  return %out, %d4 : tensor<8x16xf32>, tensor<8x16xf32>
}

// -----

// A product of no module is none of the module that it reads: it stays, and so does what the module hands on.

// ASKED-LABEL: func.func @outside
// ASKED: %[[Y:.*]] = math.tanh
// ASKED: %[[O:.*]] = linalg.matmul ins(%[[Y]]
// ASKED-NEXT: arith.mulf %[[O]], %arg2
// ASKED-NEXT: arith.mulf %[[Y]],
// ASKED-NEXT: return

func.func @outside(%x: tensor<8x16xf32>, %w: tensor<16x16xf32>, %dy: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %zero = arith.constant dense<0.0> : tensor<8x16xf32>
  %y = math.tanh %x {dist.checkpoint = "h.0", dist.scope = "h.0"} : tensor<8x16xf32>
  %o = linalg.matmul ins(%y, %w : tensor<8x16xf32>, tensor<16x16xf32>) outs(%zero : tensor<8x16xf32>) -> tensor<8x16xf32>
  %d0 = arith.mulf %o, %dy {dist.backward} : tensor<8x16xf32>
  %d1 = arith.mulf %y, %d0 {dist.backward} : tensor<8x16xf32>
  return %d1 : tensor<8x16xf32>
}
