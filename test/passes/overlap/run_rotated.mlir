// Layers in a loop whose parameters are gathered a turn ahead: the bits of the program as it was, in all modes of streams.
// RUN: dist-run %s --random=1 --output %t/given
// RUN: dist-run %s --random=1 --overlap=auto --machine cpu --link latency=20us,bandwidth=1GB/s --overlap-memory 4 -v --output %t/ahead 2>&1 | FileCheck %s
// RUN: cmp %t/given/y.npy %t/ahead/y.npy
// RUN: dist-run %s --random=1 --overlap=auto --machine cpu --link latency=20us,bandwidth=1GB/s --overlap-memory 4 --streams late --output %t/late
// RUN: cmp %t/given/y.npy %t/late/y.npy
// RUN: dist-run %s --random=1 --overlap=auto --machine cpu --link latency=20us,bandwidth=1GB/s --overlap-memory 4 --streams eager --output %t/eager
// RUN: cmp %t/given/y.npy %t/eager/y.npy
// CHECK: remark: rotated: 1 of 2
// CHECK: remark: overlapped
// CHECK: y: f32[512, 512]
dist.mesh @m ["dp" = 2]
func.func @main(%x: tensor<256x512xf32> {dist.input = "x", dist.sharding = #dist.sharding<@m, [{"dp"}, {}]>, dist.global_type = tensor<512x512xf32>},
                %w: tensor<5x256x512xf32> {dist.input = "w", dist.sharding = #dist.sharding<@m, [{}, {"dp"}, {}]>, dist.global_type = tensor<5x512x512xf32>},
                %v: tensor<5x256x512xf32> {dist.input = "v", dist.sharding = #dist.sharding<@m, [{}, {"dp"}, {}]>, dist.global_type = tensor<5x512x512xf32>})
    -> (tensor<256x512xf32> {dist.output = "y", dist.sharding = #dist.sharding<@m, [{"dp"}, {}]>, dist.global_type = tensor<512x512xf32>}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %e = tensor.empty() : tensor<256x512xf32>
  %z = arith.constant 0.0 : f32
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<256x512xf32>) -> tensor<256x512xf32>
  %r = scf.for %i = %c0 to %c5 step %c1 iter_args(%a = %x) -> tensor<256x512xf32> {
    %s = tensor.extract_slice %w[%i, 0, 0] [1, 256, 512] [1, 1, 1] : tensor<5x256x512xf32> to tensor<256x512xf32>
    %w0 = dist.all_gather %s dim 0 over "dp" : tensor<256x512xf32> -> tensor<512x512xf32>
    %0 = linalg.matmul ins(%a, %w0 : tensor<256x512xf32>, tensor<512x512xf32>) outs(%f : tensor<256x512xf32>) -> tensor<256x512xf32>
    %1 = linalg.tanh ins(%0 : tensor<256x512xf32>) outs(%e : tensor<256x512xf32>) -> tensor<256x512xf32>
    %t = tensor.extract_slice %v[%i, 0, 0] [1, 256, 512] [1, 1, 1] : tensor<5x256x512xf32> to tensor<256x512xf32>
    %w1 = dist.all_gather %t dim 0 over "dp" : tensor<256x512xf32> -> tensor<512x512xf32>
    %2 = linalg.matmul ins(%1, %w1 : tensor<256x512xf32>, tensor<512x512xf32>) outs(%f : tensor<256x512xf32>) -> tensor<256x512xf32>
    %3 = linalg.add ins(%a, %2 : tensor<256x512xf32>, tensor<256x512xf32>) outs(%e : tensor<256x512xf32>) -> tensor<256x512xf32>
    scf.yield %3 : tensor<256x512xf32>
  }
  return %r : tensor<256x512xf32>
}
