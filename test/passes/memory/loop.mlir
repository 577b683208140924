// RUN: dist-opt %s "--dist-train-step=optimizer=sgd accumulate=3 loss=mse" --dist-spmd --dist-recompute | FileCheck %s --check-prefix=KEPT
// RUN: dist-opt %s "--dist-train-step=optimizer=sgd accumulate=3 loss=mse" --dist-spmd --dist-recompute=what=gathers | FileCheck %s --check-prefix=AGAIN
// RUN: dist-opt %s "--dist-train-step=optimizer=sgd accumulate=3 loss=mse" --dist-spmd --dist-recompute=what=gathers | dist-report --json | FileCheck %s --check-prefix=REPORT

// A parameter that is stored in parts is gathered once for all microbatches, and its gradient is scattered once; or, to
// hold less, both is done for each.

// KEPT: %[[W:.*]] = dist.all_gather %arg1
// KEPT: scf.for {{.*}} -> (tensor<f32>, tensor<8x8xf32>)
// KEPT-NOT: dist.{{all_gather|reduce_scatter}}
// KEPT: scf.yield
// KEPT: dist.reduce_scatter

// AGAIN-NOT: dist.all_gather
// AGAIN: scf.for {{.*}} iter_args({{.*}}, %[[SUM:.*]] = %{{.*}}) -> (tensor<f32>, tensor<4x8xf32>)
// AGAIN: %[[W:.*]] = dist.all_gather %arg1
// AGAIN: math.tanh
// AGAIN: dist.all_gather {{.*}} cause "again, for gradients
// AGAIN: %[[PART:.*]] = dist.reduce_scatter
// AGAIN: linalg.generic {{.*}} ins(%[[PART]] : tensor<4x8xf32>) outs(%[[SUM]] : tensor<4x8xf32>)
// AGAIN: scf.yield
// AGAIN-NOT: dist.reduce_scatter
// AGAIN: return

// REPORT: "totals":{"all_gather":{"count":6,"bytes_sent_per_rank":768,{{[^}]*}}},"reduce_scatter":{"count":3,"bytes_sent_per_rank":384,

dist.mesh @m ["dp" = 2]

func.func @main(%x: tensor<6x8xf32> {dist.input = "x", dist.sharding = #dist.sharding<@m, [{"dp"}, {}]>},
                %w: tensor<8x8xf32> {dist.parameter = "w", dist.sharding = #dist.sharding<@m, [{"dp"}, {}]>}) -> (tensor<6x8xf32> {dist.output = "y"}) {
  %0 = arith.constant dense<0.0> : tensor<6x8xf32>
  %h = linalg.matmul ins(%x, %w : tensor<6x8xf32>, tensor<8x8xf32>) outs(%0 : tensor<6x8xf32>) -> tensor<6x8xf32>
  %t = math.tanh %h : tensor<6x8xf32>
  %y = linalg.matmul ins(%t, %w : tensor<6x8xf32>, tensor<8x8xf32>) outs(%0 : tensor<6x8xf32>) -> tensor<6x8xf32>
  return %y : tensor<6x8xf32>
}
