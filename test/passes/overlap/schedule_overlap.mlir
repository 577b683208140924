// Transfers start ahead, computation goes on meanwhile; the program stays as it is where that does not pay.
// RUN: dist-opt %s --dist-schedule-overlap='link={latency=20us,bandwidth=1GB/s} memory=2' | FileCheck %s
// RUN: dist-opt %s --dist-schedule-overlap='link={latency=20us,bandwidth=1GB/s}' | FileCheck %s --check-prefix=MEMORY
// RUN: dist-opt %s --dist-schedule-overlap='link={latency=1ns,bandwidth=100000GB/s} memory=2' | FileCheck %s --check-prefix=MEMORY
// RUN: dist-opt %s --dist-schedule-overlap='link={latency=20us,bandwidth=1GB/s} memory=2' --dist-verify-schedule --dist-verify-spmd -o /dev/null
// RUN: not dist-opt %s --dist-schedule-overlap 2>&1 | FileCheck %s --check-prefix=LINK
// RUN: not dist-opt %s --dist-schedule-overlap='link={latency=20us,bandwidth=1GB/s} gflops=0' 2>&1 | FileCheck %s --check-prefix=ZERO
dist.mesh @m ["tp" = 2]

// LINK: error: --dist-schedule-overlap needs to know the links: link={latency=20us,bandwidth=1GB/s}
// ZERO: error: --dist-schedule-overlap: gflops, memory-bandwidth and memory must be above 0

// The second parameter is gathered beside the first product. Nothing is left to compute beside the last reduction.
// CHECK-LABEL: func.func @main
// CHECK: dist.all_gather %{{.*}} dim 0 over "tp" : tensor<256x512xf32>
// CHECK-NEXT: dist.all_gather %{{.*}} dim 0 over "tp" {dist.stream = 1 : i32}
// CHECK: linalg.matmul
// CHECK: linalg.matmul
// CHECK: dist.all_reduce %{{.*}} sum over "tp" : tensor<256x512xf32>
// MEMORY-NOT: dist.stream
func.func @main(%x: tensor<256x512xf32>, %w: tensor<256x512xf32>, %v: tensor<256x512xf32>) -> tensor<256x512xf32> {
  %e = tensor.empty() : tensor<256x512xf32>
  %z = arith.constant 0.0 : f32
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<256x512xf32>) -> tensor<256x512xf32>
  %w0 = dist.all_gather %w dim 0 over "tp" : tensor<256x512xf32> -> tensor<512x512xf32>
  %0 = linalg.matmul ins(%x, %w0 : tensor<256x512xf32>, tensor<512x512xf32>) outs(%f : tensor<256x512xf32>) -> tensor<256x512xf32>
  %w1 = dist.all_gather %v dim 0 over "tp" : tensor<256x512xf32> -> tensor<512x512xf32>
  %1 = linalg.matmul ins(%0, %w1 : tensor<256x512xf32>, tensor<512x512xf32>) outs(%f : tensor<256x512xf32>) -> tensor<256x512xf32>
  %s = dist.all_reduce %1 sum over "tp" : tensor<256x512xf32>
  return %s : tensor<256x512xf32>
}
