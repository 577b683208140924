// Collectives that do not depend on loop-carried values are issued one iteration early, if the estimate says that it pays.
// RUN: dist-opt %s --dist-rotate-loops='machine=cpu link={latency=20us,bandwidth=1GB/s} memory=3 report=true' -o %t.mlir 2> %t.log
// RUN: FileCheck %s < %t.mlir
// RUN: FileCheck %s --check-prefix=SAID < %t.log
// RUN: dist-opt %t.mlir --dist-schedule-overlap='machine=cpu link={latency=20us,bandwidth=1GB/s} memory=3' --dist-verify-schedule | FileCheck %s --check-prefix=STREAM
// A margin that nothing reaches, or memory that nothing fits: as it was.
// RUN: dist-opt %s --dist-rotate-loops='machine=cpu link={latency=20us,bandwidth=1GB/s} memory=3 margin=0.9' | FileCheck %s --check-prefix=SAME
// RUN: dist-opt %s --dist-rotate-loops='machine=cpu link={latency=20us,bandwidth=1GB/s} memory=1 report=true' 2> %t.log | FileCheck %s --check-prefix=SAME
// RUN: FileCheck %s --check-prefix=MEMORY < %t.log
dist.mesh @m ["dp" = 2]

// SAID: remark: rotated: 1 of 2 collectives that do not depend on loop-carried values are issued one iteration early: {{.*}} ms an iteration as given
// SAID-NOT: remark: rotated
// MEMORY: remark: left as it is: 0 of 2 {{.*}}; more would need more memory than allowed

// As many are sent as before: one before the loop, one in each of three turns.
// CHECK-LABEL: func.func @layers
// CHECK: %[[FIRST:.*]] = dist.all_gather
// CHECK: scf.for {{.*}} = %{{.*}} to %[[END:.*]] step {{.*}} iter_args({{.*}}, %[[NOW:.*]] = %[[FIRST]])
// CHECK:   %[[NEXT:.*]] = dist.all_gather
// CHECK:   linalg.matmul ins(%{{.*}}, %[[NOW]] :
// CHECK:   dist.all_gather
// CHECK:   linalg.matmul
// CHECK:   scf.yield %{{.*}}, %[[NEXT]]
// CHECK: linalg.matmul
// CHECK: dist.all_gather
// CHECK: linalg.matmul
// CHECK: dist.fence
// CHECK: return
// STREAM-LABEL: func.func @layers
// STREAM: scf.for
// STREAM: dist.all_gather {{.*}}dist.stream = 1
// SAME-LABEL: func.func @layers
// SAME-NOT: dist.all_gather
// SAME: scf.for
// SAME: dist.all_gather
// SAME: dist.all_gather
// SAME-NOT: dist.all_gather
// SAME: return
func.func @layers(%x: tensor<256x512xf32>, %w: tensor<4x256x512xf32>, %v: tensor<4x256x512xf32>) -> tensor<256x512xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %e = tensor.empty() : tensor<256x512xf32>
  %z = arith.constant 0.0 : f32
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<256x512xf32>) -> tensor<256x512xf32>
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %x) -> tensor<256x512xf32> {
    %s = tensor.extract_slice %w[%i, 0, 0] [1, 256, 512] [1, 1, 1] : tensor<4x256x512xf32> to tensor<256x512xf32>
    %w0 = dist.all_gather %s dim 0 over "dp" : tensor<256x512xf32> -> tensor<512x512xf32>
    %0 = linalg.matmul ins(%a, %w0 : tensor<256x512xf32>, tensor<512x512xf32>) outs(%f : tensor<256x512xf32>) -> tensor<256x512xf32>
    %t = tensor.extract_slice %v[%i, 0, 0] [1, 256, 512] [1, 1, 1] : tensor<4x256x512xf32> to tensor<256x512xf32>
    %w1 = dist.all_gather %t dim 0 over "dp" : tensor<256x512xf32> -> tensor<512x512xf32>
    %1 = linalg.matmul ins(%0, %w1 : tensor<256x512xf32>, tensor<512x512xf32>) outs(%f : tensor<256x512xf32>) -> tensor<256x512xf32>
    scf.yield %1 : tensor<256x512xf32>
  }
  return %r : tensor<256x512xf32>
}

// Collectives that depend on loop-carried values stay, and so does a loop whose count is unknown.
// CHECK-LABEL: func.func @carried
// CHECK-NOT: dist.all_gather
// CHECK: scf.for
// CHECK: dist.all_gather
// CHECK-NOT: dist.all_gather
// CHECK: return
func.func @carried(%x: tensor<256x512xf32>, %w: tensor<512x512xf32>, %n: index) -> tensor<256x512xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty() : tensor<512x512xf32>
  %z = arith.constant 0.0 : f32
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<512x512xf32>) -> tensor<512x512xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> tensor<256x512xf32> {
    %g = dist.all_gather %a dim 0 over "dp" : tensor<256x512xf32> -> tensor<512x512xf32>
    %0 = linalg.matmul ins(%g, %w : tensor<512x512xf32>, tensor<512x512xf32>) outs(%f : tensor<512x512xf32>) -> tensor<512x512xf32>
    %1 = dist.all_slice %0 dim 0 over "dp" : tensor<512x512xf32> -> tensor<256x512xf32>
    scf.yield %1 : tensor<256x512xf32>
  }
  return %r : tensor<256x512xf32>
}
