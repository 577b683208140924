// Two layers in two stages: what each computes, what goes from one to the other, and what each holds.
//
// RUN: dist-opt %s --dist-apply-schedule '--dist-train-step=optimizer=sgd,lr=0.5 loss=mse target=t accumulate=4' \
// RUN:   --dist-spmd --dist-recompute --dist-pipeline | FileCheck %s
//
// CHECK: func.func @main(
// CHECK-SAME: dist.parameter = "w0", dist.sharding = #dist.sharding<@m, [{}, {}]>, dist.stage = 0 : i64, dist.updated
// CHECK-SAME: dist.parameter = "w1", dist.sharding = #dist.sharding<@m, [{}, {}]>, dist.stage = 1 : i64, dist.updated
// CHECK: %[[B0:.*]] = dist.task stage 0 begin
// CHECK: %[[B1:.*]]:2 = dist.task stage 1 begin
// CHECK: scf.for
// CHECK: %[[F0:.*]]:2 = dist.task stage 0 forward
// CHECK: linalg.matmul
// CHECK: dist.task_yield
// Of the two values that backward of stage 0 keeps one goes on; stage 1 does not compute it again.
// CHECK: %[[A:.*]] = dist.transfer %[[F0]]#{{.*}} stage 0 to 1 : tensor<4x8xf32>
// CHECK-NOT: dist.transfer
// CHECK: dist.task stage 1 forward
// CHECK: linalg.matmul {{.*}} ins(%[[A]],
// CHECK: %[[W1:.*]]:{{.*}} = dist.task stage 1 backward
// CHECK: %[[D:.*]] = dist.transfer %[[W1]]#{{.*}} stage 1 to 0 : tensor<4x8xf32>
// CHECK: dist.task stage 0 backward
// CHECK-NOT: dist.transfer
// CHECK: scf.yield
// CHECK: dist.task stage 0 end
// CHECK: dist.task stage 1 end
//
// Put back into one program:
// RUN: dist-opt %s --dist-apply-schedule '--dist-train-step=optimizer=sgd,lr=0.5 loss=mse target=t accumulate=4' \
// RUN:   --dist-spmd --dist-recompute --dist-pipeline --dist-inline-tasks | FileCheck %s --check-prefix=INLINED
// INLINED-NOT: dist.task
// INLINED-NOT: dist.transfer
dist.mesh @m ["pp" = 2]
dist.schedule @s on @m {
  dist.pipeline "1f1b" over "pp"
  dist.stages "h.*"
}
func.func @main(%x: tensor<4x8xf32> {dist.input = "x"}, %w0: tensor<8x8xf32> {dist.parameter = "w0"},
                %w1: tensor<8x8xf32> {dist.parameter = "w1"}) -> (tensor<4x8xf32> {dist.output = "y"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %p = linalg.matmul {dist.scope = "h.0"} ins(%x, %w0 : tensor<4x8xf32>, tensor<8x8xf32>) outs(%f : tensor<4x8xf32>) -> tensor<4x8xf32>
  %a = linalg.tanh {dist.scope = "h.0"} ins(%p : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %q = linalg.matmul {dist.scope = "h.1"} ins(%a, %w1 : tensor<4x8xf32>, tensor<8x8xf32>) outs(%f : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %q : tensor<4x8xf32>
}
