// Transfers start ahead, computation goes on meanwhile; the program stays as it is where that does not pay.
// RUN: dist-opt %s --dist-schedule-overlap='machine=cpu link={latency=20us,bandwidth=1GB/s} memory=2' | FileCheck %s
// RUN: dist-opt %s --dist-schedule-overlap='machine=cpu link={latency=20us,bandwidth=1GB/s}' | FileCheck %s --check-prefix=MEMORY
// RUN: dist-opt %s --dist-schedule-overlap='machine=cpu margin=0.1 memory=2' | FileCheck %s --check-prefix=MEMORY
// RUN: dist-opt %s --dist-schedule-overlap='machine=cpu link={latency=20us,bandwidth=1GB/s} memory=2' --dist-verify-schedule --dist-verify-spmd -o /dev/null
// The estimate equals the report of the resulting program.
// RUN: dist-opt %s --dist-schedule-overlap='machine=cpu link={latency=20us,bandwidth=1GB/s} memory=2 report=true' -o %t.mlir 2> %t.log
// RUN: dist-report %t.mlir --simulate --machine cpu --link latency=20us,bandwidth=1GB/s >> %t.log
// RUN: FileCheck %s --check-prefix=SAME < %t.log
// RUN: not dist-opt %s --dist-schedule-overlap=machine=absent 2>&1 | FileCheck %s --check-prefix=ABSENT
// RUN: not dist-opt %s --dist-schedule-overlap 2>&1 | FileCheck %s --check-prefix=LINK
// RUN: not dist-opt %s --dist-schedule-overlap='machine=cpu link={latency=20us,bandwidth=1GB/s} margin=-1' 2>&1 | FileCheck %s --check-prefix=ZERO
dist.mesh @m ["tp" = 2]

// LINK: error: --dist-schedule-overlap needs to know what on: machine=NAME or machine=FILE.json
// ABSENT: error: no machine of this name is known; there are cpu, 8xA100
// SAME: overlapped: {{.*}} as given, 2.[[MS:[0-9][0-9]]]{{[0-9]*}} ms (
// SAME: simulated on cpu: 2.[[MS]] ms a step
// ZERO: error: --dist-schedule-overlap: margin must be at least 0, and memory above it

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
