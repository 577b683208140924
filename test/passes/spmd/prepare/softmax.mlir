// RUN: dist-opt %s --split-input-file --dist-spmd | FileCheck %s
// RUN: dist-opt %s --split-input-file --dist-decompose-softmax | FileCheck %s --check-prefix=PARTS

// A row that devices shard is combined by one element each for the maximum
// and the sum.
dist.mesh @m ["x" = 4]
// CHECK-LABEL: @shared
// CHECK: %[[L:.*]] = linalg.generic {{.*}} ins(%arg0 : tensor<6x2xf32>) outs({{.*}} : tensor<6xf32>) {{.*}}dist.scope = "attn"
// CHECK: arith.maximumf
// CHECK: %[[M:.*]] = dist.all_reduce %[[L]] max over "x" {{.*}} : tensor<6xf32>
// CHECK: %[[P:.*]] = linalg.generic {{.*}} ins(%arg0, %[[M]] : tensor<6x2xf32>, tensor<6xf32>)
// CHECK: %[[H:.*]] = linalg.generic {{.*}} ins(%[[P]] : tensor<6x2xf32>) outs({{.*}} : tensor<6xf32>)
// CHECK: %[[S:.*]] = dist.all_reduce %[[H]] sum over "x" {{.*}} : tensor<6xf32>
// CHECK: %[[Y:.*]] = linalg.generic {{.*}} ins(%[[P]], %[[S]] : tensor<6x2xf32>, tensor<6xf32>)
// CHECK-NOT: dist.all
// CHECK: return %[[Y]] : tensor<6x2xf32>

// PARTS-LABEL: @shared
// PARTS-NOT: linalg.softmax
// PARTS-COUNT-4: linalg.generic
// PARTS-NOT: linalg.generic
func.func @shared(%x: tensor<6x8xf32> {dist.sharding = #dist.sharding<@m, [{}, {"x"}]>})
    -> (tensor<6x8xf32> {dist.sharding = #dist.sharding<@m, [{}, {"x"}]>}) {
  %e = tensor.empty() : tensor<6x8xf32>
  %y = linalg.softmax {dist.scope = "attn"} dimension(1) ins(%x : tensor<6x8xf32>) outs(%e : tensor<6x8xf32>) -> tensor<6x8xf32>
  return %y : tensor<6x8xf32>
}

// -----

// Rows apart: nothing is sent.
dist.mesh @m ["x" = 4]
// CHECK-LABEL: @rows
// PARTS-LABEL: @rows
// CHECK-NOT: dist.all
// CHECK: return {{.*}} : tensor<2x6xf32>
func.func @rows(%x: tensor<8x6xf32> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>})
    -> (tensor<8x6xf32> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>}) {
  %e = tensor.empty() : tensor<8x6xf32>
  %y = linalg.softmax dimension(1) ins(%x : tensor<8x6xf32>) outs(%e : tensor<8x6xf32>) -> tensor<8x6xf32>
  return %y : tensor<8x6xf32>
}

// -----

// Also of a size that only running tells.
dist.mesh @m ["x" = 4]
// CHECK-LABEL: @unknown
// CHECK: dist.all_reduce {{.*}} max over "x" {{.*}} : tensor<6xf32>
// CHECK: dist.all_reduce {{.*}} sum over "x" {{.*}} : tensor<6xf32>
// CHECK-NOT: dist.all
func.func @unknown(%x: tensor<6x?xf32> {dist.sharding = #dist.sharding<@m, [{}, {"x"}]>}, %n: index)
    -> (tensor<6x?xf32> {dist.sharding = #dist.sharding<@m, [{}, {"x"}]>}) {
  %c1 = arith.constant 1 : index
  %d = tensor.dim %x, %c1 : tensor<6x?xf32>
  %e = tensor.empty(%d) : tensor<6x?xf32>
  %y = linalg.softmax dimension(1) ins(%x : tensor<6x?xf32>) outs(%e : tensor<6x?xf32>) -> tensor<6x?xf32>
  return %y : tensor<6x?xf32>
}
