// RUN: %{root}/test/dialects/user/user-opt %s --dist-spmd --split-input-file 2>&1 | FileCheck %s

// A dialect that implements ShardingRuleOpInterface is placed, resharded and
// partitioned like any other.
dist.mesh @m ["x" = 4]

// CHECK: warning: 'user.opaque' has no sharding rule: it runs replicated

// Placements travel through the ops, both ways.
// CHECK-LABEL: @elementwise
// CHECK-SAME: %arg0: tensor<2x6xf64>
// CHECK-NEXT: %[[S:.*]] = user.scale %arg0 by 2.{{.*}} : tensor<2x6xf64> -> tensor<2x6xf64>
// CHECK-NEXT: return %[[S]]
func.func @elementwise(%a: tensor<8x6xf64> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>}) -> tensor<8x6xf64> {
  %0 = user.scale %a by 2.0 : tensor<8x6xf64> -> tensor<8x6xf64>
  return %0 : tensor<8x6xf64>
}

// The dimension that is scanned is gathered.
// CHECK-LABEL: @needed_whole
// CHECK: %[[G:.*]] = dist.all_gather %arg0 dim 1 over "x"
// CHECK: user.scan %[[G]] : tensor<8x8xf64> -> tensor<8x8xf64>
func.func @needed_whole(%a: tensor<8x8xf64> {dist.sharding = #dist.sharding<@m, [{}, {"x"}]>})
    -> (tensor<8x8xf64> {dist.sharding = #dist.sharding<@m, [{}, {}]>}) {
  %0 = user.scan %a : tensor<8x8xf64> -> tensor<8x8xf64>
  return %0 : tensor<8x8xf64>
}

// A sharded sum is left pending, passes through what is linear, and is scattered
// where it is wanted.
// CHECK-LABEL: @pending
// CHECK: %[[P:.*]] = user.pair_sums %arg0, %arg1 : tensor<8x2xf64>, tensor<4x2xf64> -> tensor<8x4xf64>
// CHECK: %[[S:.*]] = user.scale %[[P]] by 2.{{.*}} : tensor<8x4xf64> -> tensor<8x4xf64>
// CHECK: %[[R:.*]] = dist.reduce_scatter %[[S]] sum dim 0 over "x"
// CHECK: return %[[R]]
func.func @pending(%a: tensor<8x8xf64> {dist.sharding = #dist.sharding<@m, [{}, {"x"}]>},
                   %b: tensor<4x8xf64> {dist.sharding = #dist.sharding<@m, [{}, {"x"}]>})
    -> (tensor<8x4xf64> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>}) {
  %0 = user.pair_sums %a, %b : tensor<8x8xf64>, tensor<4x8xf64> -> tensor<8x4xf64>
  %1 = user.scale %0 by 2.0 : tensor<8x4xf64> -> tensor<8x4xf64>
  return %1 : tensor<8x4xf64>
}

// It does not say that it keeps padding out of its sums: ten on four devices are
// gathered.
// CHECK-LABEL: @uneven_sum
// CHECK-DAG: %[[A:.*]] = tensor.extract_slice {{.*}} : tensor<8x12xf64> to tensor<8x10xf64>
// CHECK-DAG: %[[B:.*]] = tensor.extract_slice {{.*}} : tensor<4x12xf64> to tensor<4x10xf64>
// CHECK: user.pair_sums %[[A]], %[[B]]
func.func @uneven_sum(%a: tensor<8x10xf64> {dist.sharding = #dist.sharding<@m, [{}, {"x"}]>},
                      %b: tensor<4x10xf64> {dist.sharding = #dist.sharding<@m, [{}, {"x"}]>}) -> tensor<8x4xf64> {
  %0 = user.pair_sums %a, %b : tensor<8x10xf64>, tensor<4x10xf64> -> tensor<8x4xf64>
  return %0 : tensor<8x4xf64>
}

// An op that speaks of indices makes itself local.
// CHECK-LABEL: @indices
// CHECK: %[[I:.*]] = dist.axis_index "x" on @m
// CHECK: %[[M:.*]] = arith.muli %[[I]], %c2
// CHECK: %[[O:.*]] = arith.addi %[[M]], %c0
// CHECK: %[[A:.*]] = arith.addi %arg1, %[[O]]
// CHECK: user.iota %arg0 from %[[A]] : tensor<2xi64> -> tensor<2xi64>
func.func @indices(%a: tensor<8xi64> {dist.sharding = #dist.sharding<@m, [{"x"}]>}, %n: index) -> tensor<8xi64> {
  %0 = user.iota %a from %n : tensor<8xi64> -> tensor<8xi64>
  return %0 : tensor<8xi64>
}

// An op without a rule runs replicated.
// CHECK-LABEL: @without_rule
// CHECK: %[[G:.*]] = dist.all_gather %arg0 dim 0 over "x"
// CHECK: user.opaque %[[G]] : tensor<8xf64> -> tensor<8xf64>
func.func @without_rule(%a: tensor<8xf64> {dist.sharding = #dist.sharding<@m, [{"x"}]>}) -> tensor<8xf64> {
  %0 = user.opaque %a : tensor<8xf64> -> tensor<8xf64>
  return %0 : tensor<8xf64>
}

// -----

dist.mesh @grid ["dp" = 2, "tp" = 4]

// Ten rows, five for each of two groups, of which four devices get two each: the second group begins at row 5, not at
// row 4 * 2.
// CHECK-LABEL: @nested_indices
// CHECK: %[[TP:.*]] = dist.axis_index "tp" on @grid
// CHECK: %[[T:.*]] = arith.muli %[[TP]], %c2
// CHECK: %[[IN:.*]] = arith.addi %[[T]], %c0
// CHECK: %[[DP:.*]] = dist.axis_index "dp" on @grid
// CHECK: %[[D:.*]] = arith.muli %[[DP]], %c5
// CHECK: %[[AT:.*]] = arith.addi %[[D]], %[[IN]]
// CHECK: %[[START:.*]] = arith.addi %arg1, %[[AT]]
// CHECK: user.iota %arg0 from %[[START]] : tensor<2xi64> -> tensor<2xi64>
func.func @nested_indices(%a: tensor<10xi64> {dist.sharding = #dist.sharding<@grid, [{"dp", "tp"}]>}, %n: index) -> tensor<10xi64> {
  %0 = user.iota %a from %n : tensor<10xi64> -> tensor<10xi64>
  return %0 : tensor<10xi64>
}
