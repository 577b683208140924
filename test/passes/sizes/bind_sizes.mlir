// RUN: dist-opt %s --split-input-file --dist-bind-sizes='sizes=x[0]=6' | FileCheck %s

// Sizes follow through calls, loops and branches; computed ones become constants.

// CHECK-LABEL: func.func private @act(%{{.*}}: tensor<6x5xf32>) -> tensor<6x5xf32>
func.func private @act(%v: tensor<?x5xf32>) -> tensor<?x5xf32> {
  %0 = math.tanh %v : tensor<?x5xf32>
  return %0 : tensor<?x5xf32>
}
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[X:.*]]: tensor<6x8xf32>
// CHECK-SAME: -> (tensor<6x4xf32>, tensor<2x3x5xf32>, index)
func.func @main(%x: tensor<?x8xf32> {dist.input = "x"}, %w: tensor<8x5xf32>) -> (tensor<?x4xf32>, tensor<2x?x5xf32>, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %z = arith.constant 0.0 : f32
  // CHECK-DAG: %[[N:.*]] = arith.constant 6 : index
  %n = tensor.dim %x, %c0 : tensor<?x8xf32>
  %h = arith.divui %n, %c2 : index
  // CHECK: tensor.empty() : tensor<6x5xf32>
  %e = tensor.empty(%n) : tensor<?x5xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<?x5xf32>) -> tensor<?x5xf32>
  // CHECK: linalg.matmul {{.*}} -> tensor<6x5xf32>
  %y = linalg.matmul ins(%x, %w : tensor<?x8xf32>, tensor<8x5xf32>) outs(%f : tensor<?x5xf32>) -> tensor<?x5xf32>
  // CHECK: call @act({{.*}}) : (tensor<6x5xf32>) -> tensor<6x5xf32>
  %a = func.call @act(%y) : (tensor<?x5xf32>) -> tensor<?x5xf32>
  // CHECK: scf.for {{.*}} -> (tensor<6x5xf32>)
  %l = scf.for %i = %c0 to %n step %c1 iter_args(%v = %a) -> tensor<?x5xf32> {
    %t = math.exp %v : tensor<?x5xf32>
    scf.yield %t : tensor<?x5xf32>
  }
  %big = arith.cmpi ugt, %n, %c2 : index
  // CHECK: scf.if {{.*}} -> (tensor<6x5xf32>)
  %b = scf.if %big -> tensor<?x5xf32> {
    scf.yield %l : tensor<?x5xf32>
  } else {
    scf.yield %a : tensor<?x5xf32>
  }
  // CHECK: tensor.extract_slice {{.*}}[0, 1] [6, 4] [1, 1] : tensor<6x5xf32> to tensor<6x4xf32>
  %s = tensor.extract_slice %b[0, 1] [%n, 4] [1, 1] : tensor<?x5xf32> to tensor<?x4xf32>
  // CHECK: output_shape [2, 3, 5] : tensor<6x5xf32> into tensor<2x3x5xf32>
  %p = tensor.expand_shape %b [[0, 1], [2]] output_shape [2, %h, 5] : tensor<?x5xf32> into tensor<2x?x5xf32>
  // CHECK: return {{.*}}, %[[N]] :
  return %s, %p, %n : tensor<?x4xf32>, tensor<2x?x5xf32>, index
}

// -----

// At level 3 the size is that of the whole; collectives follow.

dist.mesh @m ["dp" = 2]
// CHECK-LABEL: func.func @main
// CHECK-SAME: tensor<3x8xf32> {dist.global_type = tensor<6x8xf32>
// CHECK-SAME: -> (tensor<6x8xf32> {dist.global_type = tensor<6x8xf32>
func.func @main(%x: tensor<?x8xf32> {dist.input = "x", dist.global_type = tensor<?x8xf32>, dist.sharding = #dist.sharding<@m, [{"dp"}, {}]>})
    -> (tensor<?x8xf32> {dist.global_type = tensor<?x8xf32>, dist.sharding = #dist.sharding<@m, [{}, {}]>}) {
  // CHECK: dist.all_gather {{.*}} : tensor<3x8xf32> -> tensor<6x8xf32>
  %0 = dist.all_gather %x dim 0 over "dp" : tensor<?x8xf32> -> tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// -----

// A cast in a branch may be there for other sizes: that it runs is an error.
// CHECK-LABEL: func.func @main(%{{.*}}: tensor<6x4xf32>
func.func @main(%x: tensor<?x4xf32> {dist.input = "x"}, %b: i1) -> tensor<9x4xf32> {
  // CHECK: %[[E:.*]] = tensor.empty() : tensor<9x4xf32>
  %e = tensor.empty() : tensor<9x4xf32>
  %r = scf.if %b -> tensor<9x4xf32> {
    // CHECK: cf.assert %false{{.*}}, "tensor.cast makes 'tensor<9x?xf32>' of what is 'tensor<6x4xf32>'"
    // CHECK-NEXT: %[[C:.*]] = tensor.empty() : tensor<9x4xf32>
    %o = tensor.cast %x : tensor<?x4xf32> to tensor<?x?xf32>
    %c = tensor.cast %o : tensor<?x?xf32> to tensor<9x?xf32>
    // CHECK-NEXT: scf.yield %[[C]] : tensor<9x4xf32>
    %d = tensor.cast %c : tensor<9x?xf32> to tensor<9x4xf32>
    scf.yield %d : tensor<9x4xf32>
  } else {
    scf.yield %e : tensor<9x4xf32>
  }
  return %r : tensor<9x4xf32>
}
