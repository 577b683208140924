// RUN: dist-opt %s "--dist-train-step=optimizer=sgd loss=mse" --dist-spmd --dist-recompute | dist-report --json | FileCheck %s --check-prefix=KEPT
// RUN: dist-opt %s "--dist-train-step=optimizer=sgd loss=mse" --dist-spmd --dist-recompute=what=gathers | FileCheck %s
// RUN: dist-opt %s "--dist-train-step=optimizer=sgd loss=mse" --dist-spmd --dist-recompute=what=gathers | dist-report --json | FileCheck %s --check-prefix=AGAIN

// A parameter of four layers that forward and backward read slices of is gathered once, half of 4 x 8 x 8; or a layer's
// for each turn of both loops, twice as many bytes, so that a device never has more than one of them whole.

// KEPT: "all_gather":{"count":1,"bytes_sent_per_rank":512,
// AGAIN: "all_gather":{"count":8,"bytes_sent_per_rank":1024,

// CHECK-NOT: dist.all_gather
// CHECK: scf.for %[[I:[a-z0-9]+]] =
// CHECK: %[[W:.*]] = tensor.extract_slice %arg1[%[[I]], 0, 0] [1, 4, 8] [1, 1, 1] : tensor<4x4x8xf32> to tensor<4x8xf32>
// CHECK-NEXT: dist.all_gather %[[W]] dim 0 over "dp"{{.*}} : tensor<4x8xf32> -> tensor<8x8xf32>
// CHECK: scf.yield
// CHECK-NOT: dist.all_gather
// CHECK: scf.for
// CHECK: dist.all_gather %{{.*}} dim 0 over "dp"{{.*}} : tensor<4x8xf32> -> tensor<8x8xf32>
// CHECK-NOT: dist.all_gather
// CHECK: return

dist.mesh @m ["dp" = 2]

func.func @main(%x: tensor<12x8xf32> {dist.input = "x", dist.sharding = #dist.sharding<@m, [{"dp"}, {}]>},
                %w: tensor<4x8x8xf32> {dist.parameter = "w", dist.sharding = #dist.sharding<@m, [{}, {"dp"}, {}]>}) -> (tensor<12x8xf32> {dist.output = "y"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %0 = arith.constant dense<0.0> : tensor<12x8xf32>
  %y = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %x) -> tensor<12x8xf32> {
    %s = tensor.extract_slice %w[%i, 0, 0] [1, 8, 8] [1, 1, 1] : tensor<4x8x8xf32> to tensor<8x8xf32>
    %h = linalg.matmul ins(%a, %s : tensor<12x8xf32>, tensor<8x8xf32>) outs(%0 : tensor<12x8xf32>) -> tensor<12x8xf32>
    %t = math.tanh %h : tensor<12x8xf32>
    scf.yield %t : tensor<12x8xf32>
  }
  return %y : tensor<12x8xf32>
}
