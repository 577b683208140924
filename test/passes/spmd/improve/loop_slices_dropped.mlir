// A dimension of one element that is stored in parts is none of a slice that drops it: what is stored so is put together
// before the loop.
// RUN: dist-opt %s --dist-spmd | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK: %[[W:.*]] = dist.{{all_gather|all_reduce|broadcast}} {{.*}}tensor<1x4x8xf32>
// CHECK: scf.for
// CHECK: tensor.extract_slice %{{.*}} : tensor<1x4x8xf32> to tensor<8xf32>
// CHECK-NOT: dist.all
// CHECK: scf.yield
dist.mesh @m ["dp" = 2]
func.func @main(%w: tensor<1x4x8xf32> {dist.input = "w", dist.sharding = #dist.sharding<@m, [{"dp"}, {}, {}]>})
    -> (tensor<8xf32> {dist.output = "y"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %y = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %zero) -> tensor<8xf32> {
    %0 = tensor.extract_slice %w[0, %i, 0] [1, 1, 8] [1, 1, 1] : tensor<1x4x8xf32> to tensor<8xf32>
    %1 = arith.addf %a, %0 : tensor<8xf32>
    %2 = math.tanh %1 : tensor<8xf32>
    scf.yield %2 : tensor<8xf32>
  }
  return %y : tensor<8xf32>
}
