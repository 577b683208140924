// RUN: %{root}/test/dialects/user/user-opt %s --dist-spmd 2>&1 | FileCheck %s

// Each result of an op is completed in its own way, also where its factors are
// reduced in several.
dist.mesh @m ["x" = 2, "y" = 2]

// CHECK-LABEL: @kind_a_result
// CHECK: %[[A:.*]], %[[B:.*]] = user.sum_and_peak %arg0, %arg1 : tensor<4x8xf64>, tensor<4x8xf64> -> tensor<4xf64>, tensor<4xf64>
// CHECK-DAG: %[[S:.*]] = dist.all_reduce %[[A]] sum over "x"
// CHECK-DAG: %[[P:.*]] = dist.all_reduce %[[B]] max over "y"
// CHECK-NOT: dist.all
// CHECK: return %[[S]], %[[P]]
func.func @kind_a_result(%a: tensor<4x16xf64> {dist.sharding = #dist.sharding<@m, [{}, {"x"}]>},
                         %b: tensor<4x16xf64> {dist.sharding = #dist.sharding<@m, [{}, {"y"}]>})
    -> (tensor<4xf64>, tensor<4xf64>) {
  %0:2 = user.sum_and_peak %a, %b : tensor<4x16xf64>, tensor<4x16xf64> -> tensor<4xf64>, tensor<4xf64>
  return %0#0, %0#1 : tensor<4xf64>, tensor<4xf64>
}

// A result that does not depend on a sharded factor is complete.
// CHECK-LABEL: @one_result_pending
// CHECK: %[[A:.*]], %[[B:.*]] = user.sum_and_peak
// CHECK: %[[S:.*]] = dist.all_reduce %[[A]] sum over "x"
// CHECK-NOT: dist.all
// CHECK: return %[[S]], %[[B]]
func.func @one_result_pending(%a: tensor<4x16xf64> {dist.sharding = #dist.sharding<@m, [{}, {"x"}]>},
                              %b: tensor<4x16xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
  %0:2 = user.sum_and_peak %a, %b : tensor<4x16xf64>, tensor<4x16xf64> -> tensor<4xf64>, tensor<4xf64>
  return %0#0, %0#1 : tensor<4xf64>, tensor<4xf64>
}

// One loop, reduced in two ways.
// CHECK-LABEL: @kinds_of_one_factor
// CHECK: %[[A:.*]], %[[B:.*]] = user.ranges %arg0 : tensor<4x8xf64> -> tensor<4xf64>, tensor<4xf64>
// CHECK-DAG: dist.all_reduce %[[A]] min over "x"
// CHECK-DAG: dist.all_reduce %[[B]] max over "x"
func.func @kinds_of_one_factor(%a: tensor<4x16xf64> {dist.sharding = #dist.sharding<@m, [{}, {"x"}]>})
    -> (tensor<4xf64>, tensor<4xf64>) {
  %0:2 = user.ranges %a : tensor<4x16xf64> -> tensor<4xf64>, tensor<4xf64>
  return %0#0, %0#1 : tensor<4xf64>, tensor<4xf64>
}

// A result is pending in one way: of two, the one whose operand is dearer to
// gather; the other operand is gathered.
// CHECK-LABEL: @kinds_of_one_result
// CHECK: %[[G:.*]] = dist.all_gather %arg1 dim 1 over "y"
// CHECK: %[[R:.*]] = user.any_and_most %arg0, %[[G]] : tensor<4x32xi64>, tensor<4x8xi64> -> tensor<4xi64>
// CHECK: dist.all_reduce %[[R]] or over "x"
// CHECK-NOT: dist.all
func.func @kinds_of_one_result(%a: tensor<4x64xi64> {dist.sharding = #dist.sharding<@m, [{}, {"x"}]>},
                               %b: tensor<4x8xi64> {dist.sharding = #dist.sharding<@m, [{}, {"y"}]>}) -> tensor<4xi64> {
  %0 = user.any_and_most %a, %b : tensor<4x64xi64>, tensor<4x8xi64> -> tensor<4xi64>
  return %0 : tensor<4xi64>
}
