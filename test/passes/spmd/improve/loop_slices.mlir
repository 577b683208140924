// Parameters of all layers that are stored in parts are sliced first in the loop that reads slices of them, and each
// slice is gathered: as many bytes in all, and no device holds more than it uses.
// RUN: dist-opt %s --dist-spmd | FileCheck %s
// RUN: dist-opt %s --dist-propagate --dist-insert-reshards --dist-slice-before-reshards | FileCheck %s --check-prefix=PLACED
// RUN: dist-opt %s --dist-spmd | dist-report --json | FileCheck %s --check-prefix=REPORT

// In each of four turns a device sends its half of 16 x 16 of w, 512 bytes, and of v, once for both that read the same
// slice. All turns together would read twice of u, q is cut where it is stored in parts, and p is read elsewhere: each
// of these is gathered once, half of 2, 4 and 4 times 16 x 16.
// REPORT: "totals":{"all_gather":{"count":11,"bytes_sent_per_rank":9216,

// PLACED: scf.for %[[I:[a-z0-9]+]] =
// PLACED: %[[W:.*]] = tensor.extract_slice %arg1[%[[I]], 0, 0] {{.*}}dist.shardings = [#dist.sharding<@m, [{"dp"}, {}]>]
// PLACED-NEXT: dist.reshard %[[W]] <@m, [{"dp"}, {}]> to <@m, [{}, {}]> {{.*}} : tensor<16x16xf32>

// CHECK-LABEL: func.func @main
// CHECK-DAG: %[[U:.*]] = dist.all_gather %{{.*}} : tensor<2x8x16xf32> -> tensor<2x16x16xf32>
// CHECK-DAG: %[[Q:.*]] = dist.all_gather %{{.*}} : tensor<2x16x16xf32> -> tensor<4x16x16xf32>
// CHECK-DAG: %[[P:.*]] = dist.all_gather %{{.*}} : tensor<4x8x16xf32> -> tensor<4x16x16xf32>
// CHECK: scf.for %[[I:[a-z0-9]+]] =
// CHECK: %[[W:.*]] = tensor.extract_slice %arg1[%[[I]], 0, 0] [1, 8, 16] [1, 1, 1] : tensor<4x8x16xf32> to tensor<8x16xf32>
// CHECK-NEXT: dist.all_gather %[[W]] dim 0 over "dp"{{.*}} cause "{{.*}}only stored over {{.*}}: tensor<8x16xf32> -> tensor<16x16xf32>
// CHECK: %[[V:.*]] = tensor.extract_slice %arg2[%[[I]], 0, 0] [1, 8, 16] [1, 1, 1] : tensor<4x8x16xf32> to tensor<8x16xf32>
// CHECK-NEXT: dist.all_gather %[[V]]
// CHECK-NOT: dist.all_gather
// CHECK: scf.yield

dist.mesh @m ["dp" = 2]

func.func @main(%x: tensor<8x16xf32> {dist.input = "x", dist.sharding = #dist.sharding<@m, [{"dp"}, {}]>},
                %w: tensor<4x16x16xf32> {dist.parameter = "w", dist.sharding = #dist.sharding<@m, [{}, {"dp"}, {}]>},
                %v: tensor<4x16x16xf32> {dist.parameter = "v", dist.sharding = #dist.sharding<@m, [{}, {"dp"}, {}]>},
                %u: tensor<2x16x16xf32> {dist.parameter = "u", dist.sharding = #dist.sharding<@m, [{}, {"dp"}, {}]>},
                %q: tensor<4x16x16xf32> {dist.parameter = "q", dist.sharding = #dist.sharding<@m, [{"dp"}, {}, {}]>},
                %p: tensor<4x16x16xf32> {dist.parameter = "p", dist.sharding = #dist.sharding<@m, [{}, {"dp"}, {}]>})
    -> (tensor<8x16xf32> {dist.output = "y"}, tensor<8x16xf32> {dist.output = "z"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant dense<0.0> : tensor<8x16xf32>
  %y = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %x) -> tensor<8x16xf32> {
    %w0 = tensor.extract_slice %w[%i, 0, 0] [1, 16, 16] [1, 1, 1] : tensor<4x16x16xf32> to tensor<16x16xf32>
    %1 = linalg.matmul ins(%a, %w0 : tensor<8x16xf32>, tensor<16x16xf32>) outs(%zero : tensor<8x16xf32>) -> tensor<8x16xf32>
    %t1 = math.tanh %1 : tensor<8x16xf32>
    %v0 = tensor.extract_slice %v[%i, 0, 0] [1, 16, 16] [1, 1, 1] : tensor<4x16x16xf32> to tensor<16x16xf32>
    %2 = linalg.matmul ins(%t1, %v0 : tensor<8x16xf32>, tensor<16x16xf32>) outs(%zero : tensor<8x16xf32>) -> tensor<8x16xf32>
    %v1 = tensor.extract_slice %v[%i, 0, 0] [1, 16, 16] [1, 1, 1] : tensor<4x16x16xf32> to tensor<16x16xf32>
    %t2 = math.tanh %2 : tensor<8x16xf32>
    %3 = linalg.matmul ins(%t2, %v1 : tensor<8x16xf32>, tensor<16x16xf32>) outs(%zero : tensor<8x16xf32>) -> tensor<8x16xf32>
    %t3 = math.tanh %3 : tensor<8x16xf32>
    %u0 = tensor.extract_slice %u[0, 0, 0] [1, 16, 16] [1, 1, 1] : tensor<2x16x16xf32> to tensor<16x16xf32>
    %4 = linalg.matmul ins(%t3, %u0 : tensor<8x16xf32>, tensor<16x16xf32>) outs(%zero : tensor<8x16xf32>) -> tensor<8x16xf32>
    %q0 = tensor.extract_slice %q[%i, 0, 0] [1, 16, 16] [1, 1, 1] : tensor<4x16x16xf32> to tensor<16x16xf32>
    %t4 = math.tanh %4 : tensor<8x16xf32>
    %5 = linalg.matmul ins(%t4, %q0 : tensor<8x16xf32>, tensor<16x16xf32>) outs(%zero : tensor<8x16xf32>) -> tensor<8x16xf32>
    %p0 = tensor.extract_slice %p[%i, 0, 0] [1, 16, 16] [1, 1, 1] : tensor<4x16x16xf32> to tensor<16x16xf32>
    %t5 = math.tanh %5 : tensor<8x16xf32>
    %6 = linalg.matmul ins(%t5, %p0 : tensor<8x16xf32>, tensor<16x16xf32>) outs(%zero : tensor<8x16xf32>) -> tensor<8x16xf32>
    scf.yield %6 : tensor<8x16xf32>
  }
  %p1 = tensor.extract_slice %p[0, 0, 0] [1, 16, 16] [1, 1, 1] : tensor<4x16x16xf32> to tensor<16x16xf32>
  %z = linalg.matmul ins(%y, %p1 : tensor<8x16xf32>, tensor<16x16xf32>) outs(%zero : tensor<8x16xf32>) -> tensor<8x16xf32>
  return %y, %z : tensor<8x16xf32>, tensor<8x16xf32>
}
