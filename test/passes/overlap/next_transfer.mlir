// Two chunks, each of which scatters, normalizes and gathers between its products: the small kernel between the two
// collectives of one chunk comes before what is left of the other chunk's products, so that the gather has something beside it.
// RUN: dist-opt %s --dist-schedule-overlap='machine=cpu link={latency=20us,bandwidth=1GB/s} memory=4 report=true' -o %t.mlir 2> %t.log
// RUN: FileCheck %s --check-prefix=SAID < %t.log
// RUN: dist-opt %t.mlir --dist-verify-schedule -o - | FileCheck %s
dist.mesh @m ["tp" = 2]

// SAID: remark: overlapped: {{.*}} as given, 7.587 ms
// SAID: note: up to 8 in flight, as given: 7.903 ms
// SAID: note: up to 2 in flight, for the next transfer: 7.587 ms
// SAID: note: up to 8 in flight, by the longest path: 7.903 ms

// CHECK: linalg.matmul
// CHECK: linalg.matmul
// CHECK: dist.reduce_scatter %{{.*}} {dist.stream = 1 : i32}
// CHECK: linalg.matmul
// CHECK: linalg.exp
// CHECK-NEXT: dist.all_gather %{{.*}} {dist.stream = 1 : i32}
// CHECK: linalg.matmul
func.func @main(%x: tensor<512x512xf32>, %y: tensor<512x512xf32>, %w: tensor<512x512xf32>, %v: tensor<512x512xf32>) -> (tensor<512x512xf32>, tensor<512x512xf32>) {
  %e = tensor.empty() : tensor<512x512xf32>
  %h = tensor.empty() : tensor<256x512xf32>
  %z = arith.constant 0.0 : f32
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<512x512xf32>) -> tensor<512x512xf32>
  %a0 = linalg.matmul ins(%x, %w : tensor<512x512xf32>, tensor<512x512xf32>) outs(%f : tensor<512x512xf32>) -> tensor<512x512xf32>
  %a1 = linalg.matmul ins(%a0, %v : tensor<512x512xf32>, tensor<512x512xf32>) outs(%f : tensor<512x512xf32>) -> tensor<512x512xf32>
  %a2 = dist.reduce_scatter %a1 sum dim 0 over "tp" : tensor<512x512xf32> -> tensor<256x512xf32>
  %a3 = linalg.exp ins(%a2 : tensor<256x512xf32>) outs(%h : tensor<256x512xf32>) -> tensor<256x512xf32>
  %a4 = dist.all_gather %a3 dim 0 over "tp" : tensor<256x512xf32> -> tensor<512x512xf32>
  %a5 = linalg.matmul ins(%a4, %w : tensor<512x512xf32>, tensor<512x512xf32>) outs(%f : tensor<512x512xf32>) -> tensor<512x512xf32>
  %b0 = linalg.matmul ins(%y, %w : tensor<512x512xf32>, tensor<512x512xf32>) outs(%f : tensor<512x512xf32>) -> tensor<512x512xf32>
  %b1 = linalg.matmul ins(%b0, %v : tensor<512x512xf32>, tensor<512x512xf32>) outs(%f : tensor<512x512xf32>) -> tensor<512x512xf32>
  %b2 = dist.reduce_scatter %b1 sum dim 0 over "tp" : tensor<512x512xf32> -> tensor<256x512xf32>
  %b3 = linalg.exp ins(%b2 : tensor<256x512xf32>) outs(%h : tensor<256x512xf32>) -> tensor<256x512xf32>
  %b4 = dist.all_gather %b3 dim 0 over "tp" : tensor<256x512xf32> -> tensor<512x512xf32>
  %b5 = linalg.matmul ins(%b4, %w : tensor<512x512xf32>, tensor<512x512xf32>) outs(%f : tensor<512x512xf32>) -> tensor<512x512xf32>
  return %a5, %b5 : tensor<512x512xf32>, tensor<512x512xf32>
}
