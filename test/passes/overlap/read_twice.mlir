// A transfer leaves the window once, however often its result is read: the next one starts beside the product that follows.
// RUN: dist-opt %s --dist-schedule-overlap='machine=cpu link={latency=20us,bandwidth=1GB/s} memory=2' | FileCheck %s
dist.mesh @m ["tp" = 2]

// CHECK: dist.all_gather %arg1 dim 0 over "tp" : tensor<256x512xf32>
// CHECK: linalg.matmul
// CHECK: %[[TWO:.*]] = linalg.matmul
// CHECK-NEXT: dist.all_gather %[[TWO]] dim 0 over "tp" {dist.stream = 1 : i32}
// CHECK-NEXT: linalg.matmul
// CHECK: linalg.matmul
func.func @main(%x: tensor<256x512xf32>, %w: tensor<256x512xf32>, %u: tensor<512x512xf32>) -> tensor<256x512xf32> {
  %e = tensor.empty() : tensor<256x512xf32>
  %z = arith.constant 0.0 : f32
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<256x512xf32>) -> tensor<256x512xf32>
  %w0 = dist.all_gather %w dim 0 over "tp" : tensor<256x512xf32> -> tensor<512x512xf32>
  %0 = linalg.matmul ins(%x, %w0 : tensor<256x512xf32>, tensor<512x512xf32>) outs(%f : tensor<256x512xf32>) -> tensor<256x512xf32>
  %1 = linalg.matmul ins(%0, %w0 : tensor<256x512xf32>, tensor<512x512xf32>) outs(%f : tensor<256x512xf32>) -> tensor<256x512xf32>
  %2 = linalg.matmul ins(%1, %u : tensor<256x512xf32>, tensor<512x512xf32>) outs(%f : tensor<256x512xf32>) -> tensor<256x512xf32>
  %v = dist.all_gather %1 dim 0 over "tp" : tensor<256x512xf32> -> tensor<512x512xf32>
  %3 = linalg.matmul ins(%2, %v : tensor<256x512xf32>, tensor<512x512xf32>) outs(%f : tensor<256x512xf32>) -> tensor<256x512xf32>
  return %3 : tensor<256x512xf32>
}
