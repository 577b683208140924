// What a constraint leaves pending comes through what is added to it on the way: that is made pending, too.
// RUN: dist-opt %s --split-input-file --dist-propagate --dist-insert-reshards --dist-improve-reshards --verify-diagnostics | FileCheck %s
// RUN: sed -e '/^\/\/ REFUSED/,$d' %s > %t.mlir && dist-fuzz %t.mlir

// The bias of a row-parallel layer, a reshape after it.
// CHECK-LABEL: func.func @bias
// CHECK-SAME: %[[BIAS:[a-z0-9]+]]: tensor<6xf64>
// CHECK: %[[SUM:.*]] = linalg.matmul {{.*}}[{}, {}], partial = sum {"tp"}
// CHECK-DAG: %[[ONE:.*]] = dist.reshard %[[BIAS]] <@m, [{}]> to <@m, [{}], partial = sum {"tp"}>
// CHECK: linalg.generic {{.*}}ins(%[[SUM]], %[[ONE]]
// CHECK: tensor.collapse_shape {{.*}}[{}], partial = sum {"tp"}
// CHECK: dist.reshard {{.*}}partial = sum {"tp"}> to <@m, [{}]>
// CHECK-NEXT: {{^ *}}%{{[0-9]+}} = math.exp
dist.mesh @m ["tp" = 2]
func.func @bias(%x: tensor<4x8xf64>, %w: tensor<8x6xf64> {dist.sharding = #dist.sharding<@m, [{"tp"}, {}]>}, %b: tensor<6xf64>) -> tensor<24xf64> {
  %c = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<4x6xf64>
  %z = linalg.fill ins(%c : f64) outs(%e : tensor<4x6xf64>) -> tensor<4x6xf64>
  %0 = linalg.matmul ins(%x, %w : tensor<4x8xf64>, tensor<8x6xf64>) outs(%z : tensor<4x6xf64>) -> tensor<4x6xf64>
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]} ins(%0, %b : tensor<4x6xf64>, tensor<6xf64>) outs(%e : tensor<4x6xf64>) {
  ^bb0(%a: f64, %d: f64, %o: f64):
    %s = arith.addf %a, %d : f64
    linalg.yield %s : f64
  } -> tensor<4x6xf64>
  %2 = tensor.collapse_shape %1 [[0, 1]] : tensor<4x6xf64> into tensor<24xf64>
  %3 = dist.sharding_constraint %2 <@m, [{}], partial = sum {"tp"}> : tensor<24xf64>
  %4 = math.exp %3 : tensor<24xf64>
  return %4 : tensor<24xf64>
}

// -----

// A maximum of the pending one and a constant, and of an activation that is cut.
// CHECK-LABEL: func.func @maximum
// CHECK: linalg.reduce {{.*}}partial = max {"tp"}
// CHECK: arith.maximumf {{.*}}partial = max {"tp"}
// CHECK: arith.maximumf {{.*}}partial = max {"tp"}
dist.mesh @m ["tp" = 3]
func.func @maximum(%x: tensor<6x5xf64> {dist.sharding = #dist.sharding<@m, [{"tp"}, {}]>}, %y: tensor<5xf64>) -> tensor<5xf64> {
  %c = arith.constant -2.0 : f64
  %e = tensor.empty() : tensor<5xf64>
  %z = linalg.fill ins(%c : f64) outs(%e : tensor<5xf64>) -> tensor<5xf64>
  %0 = linalg.reduce ins(%x : tensor<6x5xf64>) outs(%z : tensor<5xf64>) dimensions = [0] (%a: f64, %b: f64) {
    %m = arith.maximumf %a, %b : f64
    linalg.yield %m : f64
  }
  %cst = arith.constant dense<0.25> : tensor<5xf64>
  %1 = arith.maximumf %0, %cst : tensor<5xf64>
  %2 = arith.maximumf %1, %y : tensor<5xf64>
  %3 = dist.sharding_constraint %2 <@m, [{}], partial = max {"tp"}> : tensor<5xf64>
  %4 = math.exp %3 : tensor<5xf64>
  return %4 : tensor<5xf64>
}

// REFUSED: no sum comes through an exponential.
// -----

dist.mesh @m ["tp" = 2]
func.func @exponential(%x: tensor<4x8xf64>, %w: tensor<8x6xf64> {dist.sharding = #dist.sharding<@m, [{"tp"}, {}]>}) -> tensor<4x6xf64> {
  %c = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<4x6xf64>
  %z = linalg.fill ins(%c : f64) outs(%e : tensor<4x6xf64>) -> tensor<4x6xf64>
  %0 = linalg.matmul ins(%x, %w : tensor<4x8xf64>, tensor<8x6xf64>) outs(%z : tensor<4x6xf64>) -> tensor<4x6xf64>
  // expected-note@below {{the value is made here}}
  %1 = math.exp %0 : tensor<4x6xf64>
  // expected-error@below {{leaves a sum over "tp" pending, but here the value is}}
  %2 = dist.sharding_constraint %1 <@m, [{}, {}], partial = sum {"tp"}> : tensor<4x6xf64>
  return %2 : tensor<4x6xf64>
}
