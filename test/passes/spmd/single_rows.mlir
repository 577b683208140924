// One row of a sharded dimension is a sum, zero where the row is not: an all_reduce of the row in place of the whole.
// RUN: dist-opt %s --dist-propagate=strict --dist-insert-reshards --dist-improve-reshards --dist-partition --split-input-file 2>&1 | FileCheck %s

// The class token of 17 tokens, 5 on each device but the last.
// CHECK-LABEL: func.func @dropped
// CHECK-NOT: dist.all_gather
// CHECK: %[[LOCAL:.*]] = arith.select %[[HERE:.*]], %{{.*}}, %c0
// CHECK: %[[ROW:.*]] = tensor.extract_slice %arg0[0, %[[LOCAL]], 0] [2, 1, 4] [1, 1, 1] : tensor<2x5x4xf32> to tensor<2x4xf32>
// CHECK: %[[MASKED:.*]] = linalg.generic {{.*}} ins(%[[ROW]] : tensor<2x4xf32>)
// CHECK: arith.select %[[HERE]], %in, %{{.*}} : f32
// CHECK: %[[SUM:.*]] = dist.all_reduce %[[MASKED]] sum over "x" {{.*}} : tensor<2x4xf32>
// CHECK: return %[[SUM]]
dist.mesh @m ["x" = 4]
func.func @dropped(%a: tensor<2x17x4xf32> {dist.sharding = #dist.sharding<@m, [{}, {"x"}, {}]>}) -> (tensor<2x4xf32> {dist.sharding = #dist.sharding<@m, [{}, {}]>}) {
  %0 = tensor.extract_slice %a[0, 0, 0] [2, 1, 4] [1, 1, 1] : tensor<2x17x4xf32> to tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// -----

// Where it is told by a number that only running knows, it is checked as on one device.
// CHECK-LABEL: func.func @computed
// CHECK: %[[IN:.*]] = arith.cmpi ult, %arg1, %c8
// CHECK-NEXT: cf.assert %[[IN]], "an index of tensor.extract_slice is out of range: coordinates must be at least 0 and less than [8, 4]"
// CHECK: tensor.extract_slice %arg0[%{{.*}}, 0] [1, 4] [1, 1] : tensor<2x4xi1> to tensor<1x4xi1>
// CHECK: dist.all_reduce %{{.*}} or over
dist.mesh @m ["x" = 4]
func.func @computed(%a: tensor<8x4xi1> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>}, %i: index) -> (tensor<1x4xi1> {dist.sharding = #dist.sharding<@m, [{}, {}]>}) {
  %0 = tensor.extract_slice %a[%i, 0] [1, 4] [1, 1] : tensor<8x4xi1> to tensor<1x4xi1>
  return %0 : tensor<1x4xi1>
}

// -----

// Rows that add up to the whole are taken of the whole.
// CHECK-LABEL: func.func @many
// CHECK: dist.all_gather %arg0
// CHECK-NOT: dist.all_reduce
dist.mesh @m ["x" = 2]
func.func @many(%a: tensor<4x3xf32> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>}) -> (tensor<3xf32> {dist.sharding = #dist.sharding<@m, [{}]>}, tensor<3xf32> {dist.sharding = #dist.sharding<@m, [{}]>}) {
  %0 = tensor.extract_slice %a[0, 0] [1, 3] [1, 1] : tensor<4x3xf32> to tensor<3xf32>
  %1 = tensor.extract_slice %a[3, 0] [1, 3] [1, 1] : tensor<4x3xf32> to tensor<3xf32>
  return %0, %1 : tensor<3xf32>, tensor<3xf32>
}

// -----

// All of a dimension of which a device has one row is no single row.
// CHECK-LABEL: func.func @one_each
// CHECK: %[[R:.*]] = tensor.extract_slice %arg0[0, 1] [1, 2] [1, 1] : tensor<1x4xf32> to tensor<1x2xf32>
// CHECK-NEXT: return %[[R]]
dist.mesh @m ["x" = 4]
func.func @one_each(%a: tensor<4x4xf32> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>}) -> (tensor<4x2xf32> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>}) {
  %0 = tensor.extract_slice %a[0, 1] [4, 2] [1, 1] : tensor<4x4xf32> to tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}
