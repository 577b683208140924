// A loop takes what its own order makes of it: inner blocks are ordered first, whatever comes before the loop.
// RUN: dist-opt %s --dist-schedule-overlap='machine=cpu link={latency=20us,bandwidth=1GB/s} memory=2 report=true' -o %t.mlir 2> %t.log
// RUN: dist-opt %t.mlir --dist-verify-schedule -o /dev/null
// RUN: FileCheck %s < %t.log
dist.mesh @m ["tp" = 2]

// CHECK: remark: overlapped: 2.208 ms {{.*}} as given, 1.738 ms
// CHECK: scf.for
// CHECK: remark: left as it is: 5.759 ms
// CHECK: func.func
func.func @main(%x: tensor<256x512xf32>, %w: tensor<256x512xf32>, %v: tensor<256x512xf32>) -> tensor<256x512xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %e = tensor.empty() : tensor<256x512xf32>
  %z = arith.constant 0.0 : f32
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<256x512xf32>) -> tensor<256x512xf32>
  %s = dist.all_reduce %x sum over "tp" : tensor<256x512xf32>
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %s) -> tensor<256x512xf32> {
    %w0 = dist.all_gather %w dim 0 over "tp" : tensor<256x512xf32> -> tensor<512x512xf32>
    %0 = linalg.matmul ins(%a, %w0 : tensor<256x512xf32>, tensor<512x512xf32>) outs(%f : tensor<256x512xf32>) -> tensor<256x512xf32>
    %w1 = dist.all_gather %v dim 0 over "tp" : tensor<256x512xf32> -> tensor<512x512xf32>
    %1 = linalg.matmul ins(%0, %w1 : tensor<256x512xf32>, tensor<512x512xf32>) outs(%f : tensor<256x512xf32>) -> tensor<256x512xf32>
    scf.yield %1 : tensor<256x512xf32>
  }
  return %r : tensor<256x512xf32>
}
