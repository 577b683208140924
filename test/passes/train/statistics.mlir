// RUN: dist-opt %s "--dist-train-step=optimizer=sgd loss=mse" | FileCheck %s
// RUN: dist-opt %s "--dist-train-step=optimizer=sgd loss=mse parameters=bn.*" | FileCheck %s
// RUN: dist-opt %s "--dist-train-step=optimizer=sgd loss=mse accumulate=3" | FileCheck %s --check-prefix=LOOP
// RUN: dist-opt %s "--dist-train-step=optimizer=sgd loss=mse accumulate=3" --dist-spmd | FileCheck %s --check-prefix=SPMD
// RUN: not dist-opt %s "--dist-train-step=optimizer=sgd loss=mse parameters=bn.mean" 2>&1 | FileCheck %s --check-prefix=NAMED --implicit-check-not=warning
// RUN: dist-opt %s "--dist-differentiate=cotangent=dy" | FileCheck %s --check-prefix=GRAD
// RUN: sed 's/dist.parameter = "bn.mean", dist.buffer/dist.input = "bn.mean"/' %s | not dist-opt - "--dist-train-step=optimizer=sgd loss=mse" 2>&1 | FileCheck %s --check-prefix=INPUT

// What the model itself updates goes from step to step beside what is trained, and is no result that a loss is of.

// CHECK: func.func @main(%{{.*}}: tensor<6x4xf32> {dist.input = "x"
// CHECK-SAME: %[[MEAN:[^ ]*]]: tensor<4xf32> {dist.buffer, dist.parameter = "bn.mean", dist.updated}, %{{.*}}: tensor<4xf32> {dist.parameter = "bn.w", dist.updated}
// CHECK-SAME: -> (tensor<f32> {dist.output = "loss"}, tensor<4xf32> {dist.output = "bn.w", dist.updates = 2 : i64}, tensor<4xf32> {dist.output = "bn.mean", dist.updates = 1 : i64})
// CHECK: %[[NEW:.*]] = linalg.generic {{.*}} ins(%[[MEAN]], %{{.*}} : tensor<4xf32>, tensor<4xf32>)
// CHECK: return %{{.*}}, %{{.*}}, %[[NEW]] :

// Each microbatch goes on from the one before: what reads the old value is in the loop, and reads the loop's.
// LOOP: func.func @main(%{{[^:]*}}: tensor<3x6x4xf32>
// LOOP-SAME: %[[MEAN:[^ ]*]]: tensor<4xf32> {dist.buffer, dist.parameter = "bn.mean", dist.updated}
// LOOP: %[[ALL:.*]]:3 = scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %[[NOW:.*]] = %[[MEAN]]) -> (tensor<f32>, tensor<4xf32>, tensor<4xf32>) {
// LOOP-NOT: %[[MEAN]]
// LOOP: %[[NEW:.*]] = linalg.generic {{.*}} ins(%[[NOW]], %{{.*}} : tensor<4xf32>, tensor<4xf32>)
// LOOP-NOT: %[[MEAN]]
// LOOP: scf.yield %{{.*}}, %{{.*}}, %[[NEW]]
// LOOP: return %{{.*}}, %{{.*}}, %[[ALL]]#2 :

// The sum over all rows is completed in each microbatch, the gradient's after the loop.
// SPMD: scf.for
// SPMD-COUNT-1: dist.all_reduce
// SPMD-NOT: dist.all_
// SPMD: scf.yield
// SPMD: return

// NAMED: error: parameters= (dist-run: --train-parameters) bn.mean is updated by the model itself ('dist.updates': running statistics), and cannot be trained besides

// GRAD: -> (tensor<6x4xf32> {dist.output = "y", {{.*}}}, tensor<4xf32> {dist.output = "bn.mean", dist.updates = 1 : i64}, tensor<4xf32> {dist.output = "bn.w.grad"})

// INPUT: error: {{.*}}has a result 1 that updates argument 1, which is no parameter ('dist.parameter'): a step of training would not keep it

dist.mesh @m ["dp" = 2]

#rows = affine_map<(i, j) -> (i, j)>
#columns = affine_map<(i, j) -> (j)>
#each = affine_map<(i) -> (i)>

func.func @main(%x: tensor<6x4xf32> {dist.input = "x", dist.sharding = #dist.sharding<@m, [{"dp"}, {}]>},
                %mean: tensor<4xf32> {dist.parameter = "bn.mean", dist.buffer},
                %w: tensor<4xf32> {dist.parameter = "bn.w"})
    -> (tensor<6x4xf32> {dist.output = "y", dist.sharding = #dist.sharding<@m, [{"dp"}, {}]>},
        tensor<4xf32> {dist.output = "bn.mean", dist.updates = 1 : i64}) {
  %0 = arith.constant dense<0.0> : tensor<4xf32>
  %sum = linalg.generic {indexing_maps = [#rows, #columns], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<6x4xf32>) outs(%0 : tensor<4xf32>) {
  ^bb0(%a: f32, %s: f32):
    %1 = arith.addf %s, %a : f32
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  %2 = tensor.empty() : tensor<4xf32>
  %new = linalg.generic {indexing_maps = [#each, #each, #each], iterator_types = ["parallel"]}
      ins(%mean, %sum : tensor<4xf32>, tensor<4xf32>) outs(%2 : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %h = arith.constant 0.5 : f32
    %1 = arith.mulf %a, %h : f32
    %3 = arith.addf %1, %b : f32
    linalg.yield %3 : f32
  } -> tensor<4xf32>
  %4 = tensor.empty() : tensor<6x4xf32>
  %y = linalg.generic {indexing_maps = [#rows, #columns, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%x, %w : tensor<6x4xf32>, tensor<4xf32>) outs(%4 : tensor<6x4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %1 = arith.mulf %a, %b : f32
    linalg.yield %1 : f32
  } -> tensor<6x4xf32>
  return %y, %new : tensor<6x4xf32>, tensor<4xf32>
}
