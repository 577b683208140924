// Random numbers of streams of devices' own: keyed by the place in a device's part, and by which device it is.
// RUN: dist-opt %s --split-input-file --verify-diagnostics --dist-spmd --canonicalize --cse | FileCheck %s

// Along "tp" a device draws by its own index, along "dp" by that in the whole tensor.
// CHECK: dist.mesh @m ["dp" = 2, "tp" = 3] {dist.random_streams = [{axes = [{{.*}}"tp"{{.*}}], number = 5 : i64, sharding = {{.*}}, sizes = array<i64: 4, 7>}]}
// CHECK-LABEL: func.func @main
// CHECK-DAG: %[[DP:.*]] = dist.axis_index "dp"
// CHECK-DAG: %[[TP:.*]] = dist.axis_index "tp"
// CHECK: linalg.generic
// CHECK: %[[ROWS:.*]] = arith.muli %[[DP]], %c2
// CHECK: %[[I:.*]] = arith.addi %[[ROWS]], %{{.*}}
// CHECK: dist.random_words %{{.*}}, %{{.*}} operator 5 at(%[[I]], %{{.*}}) of [4, 3] stream %[[TP]]
#id = affine_map<(i, j) -> (i, j)>
dist.mesh @m ["dp" = 2, "tp" = 3]
func.func @main(%s: i64) -> tensor<4x7xi64> {
  %e = tensor.empty() : tensor<4x7xi64>
  %0 = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<4x7xi64>) {
  ^bb0(%o: i64):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %w:4 = dist.random_words %s, %s operator 5 at (%i, %j) of [4, 7] streams over "tp"
    linalg.yield %w#0 : i64
  } -> tensor<4x7xi64>
  %1 = dist.sharding_constraint %0 <@m, [{"dp"}, {"tp"}]> : tensor<4x7xi64>
  return %1 : tensor<4x7xi64>
}

// -----

// What is placed otherwise than the first op of the operator draws what that has drawn: which device had the element is
// computed of its place in the whole tensor.
// CHECK-LABEL: func.func @main
// CHECK: linalg.generic
// CHECK: dist.random_words %{{.*}}, %{{.*}} operator 5 at(%{{.*}}, %{{.*}}) of [2, 6] stream %{{.*}}
// CHECK: linalg.generic
// CHECK-DAG: %[[COLUMN:.*]] = linalg.index 1
// CHECK-DAG: %[[STREAM:.*]] = arith.divui %[[ROW:.*]], %c2
// CHECK-DAG: %[[PLACE:.*]] = arith.remui %[[ROW]], %c2
// CHECK: dist.random_words %{{.*}}, %{{.*}} operator 5 at(%[[PLACE]], %{{.*}}) of [2, 6] stream %[[STREAM]]
#id = affine_map<(i, j) -> (i, j)>
dist.mesh @m ["tp" = 2]
func.func @main(%s: i64) -> (tensor<4x6xi64>, tensor<4x6xi64>) {
  %e = tensor.empty() : tensor<4x6xi64>
  %0 = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<4x6xi64>) {
  ^bb0(%o: i64):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %w:4 = dist.random_words %s, %s operator 5 at (%i, %j) of [4, 6] streams over "tp"
    linalg.yield %w#0 : i64
  } -> tensor<4x6xi64>
  %1 = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<4x6xi64>) {
  ^bb0(%o: i64):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %w:4 = dist.random_words %s, %s operator 5 at (%i, %j) of [4, 6] streams over "tp"
    linalg.yield %w#1 : i64
  } -> tensor<4x6xi64>
  %2 = dist.sharding_constraint %0 <@m, [{"tp"}, {}]> : tensor<4x6xi64>
  %3 = dist.sharding_constraint %1 <@m, [{}, {"tp"}]> : tensor<4x6xi64>
  return %2, %3 : tensor<4x6xi64>, tensor<4x6xi64>
}

// -----

// Devices that have the same elements would draw different numbers for them.
#id = affine_map<(i, j) -> (i, j)>
// expected-warning@below {{nothing is split over axis "tp"}}
dist.mesh @m ["dp" = 2, "tp" = 2]
func.func @main(%s: i64) -> tensor<4x6xi64> {
  %e = tensor.empty() : tensor<4x6xi64>
  // expected-note@below {{drawn here, placed as #dist.sharding<@m, [{"dp"}, {}]>}}
  %0 = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<4x6xi64>) {
  ^bb0(%o: i64):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    // expected-error@below {{dist.random_streams: the drawn tensor is not sharded over "dp", "tp": of 4 devices 2 have parts of their own, and others would draw different numbers for the same elements}}
    %w:4 = dist.random_words %s, %s operator 5 at (%i, %j) of [4, 6] streams over "dp", "tp"
    linalg.yield %w#0 : i64
  } -> tensor<4x6xi64>
  %1 = dist.sharding_constraint %0 <@m, [{"dp"}, {}]> : tensor<4x6xi64>
  return %1 : tensor<4x6xi64>
}

// -----

#id = affine_map<(i) -> (i)>
dist.mesh @m ["tp" = 2]
func.func @main(%s: i64, %n: index) -> (tensor<?xi64> {dist.sharding = #dist.sharding<@m, [{"tp"}]>}) {
  %e = tensor.empty(%n) : tensor<?xi64>
  // expected-note@below {{drawn here}}
  %0 = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%e : tensor<?xi64>) {
  ^bb0(%o: i64):
    %i = linalg.index 0 : index
    // expected-error@below {{dist.random_streams: the size of what is drawn has to be known (--bind)}}
    %w:4 = dist.random_words %s, %s operator 5 at (%i) of [%n] streams over "tp"
    linalg.yield %w#0 : i64
  } -> tensor<?xi64>
  return %0 : tensor<?xi64>
}

// -----

// Of a place that is computed otherwise than of the loops nobody knows whose it is.
#id = affine_map<(i) -> (i)>
dist.mesh @m ["tp" = 2]
func.func @main(%s: i64) -> tensor<4xi64> {
  %e = tensor.empty() : tensor<4xi64>
  // expected-note@below {{drawn here}}
  %0 = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%e : tensor<4xi64>) {
  ^bb0(%o: i64):
    %c3 = arith.constant 3 : index
    %i = linalg.index 0 : index
    %k = arith.subi %c3, %i : index
    // expected-error@below {{dist.random_streams: it cannot be told which part of what is drawn a device has}}
    %w:4 = dist.random_words %s, %s operator 5 at (%k) of [4] streams over "tp"
    linalg.yield %w#0 : i64
  } -> tensor<4xi64>
  %1 = dist.sharding_constraint %0 <@m, [{"tp"}]> : tensor<4xi64>
  return %1 : tensor<4xi64>
}
