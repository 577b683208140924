// Half of an axis of 4 devices is the whole of one of 2: --mesh names it so, and
// propagation ends. An eighth there is not.
// RUN: dist-report %s --mesh tp=2 | FileCheck %s
// RUN: not dist-report %s --mesh tp=6 --mesh dp=3 2>&1 | FileCheck %s --check-prefix=THREE
// RUN: not dist-report %s --mesh tp=3 2>&1 | FileCheck %s --check-prefix=ODD
// CHECK: no communication
// THREE: error: --mesh dp=3: no mesh has an axis 'dp'
// ODD: sub-axis "tp"(1)2 does not divide axis "tp" of size 3

dist.mesh @m ["tp" = 4]
func.func @main(%x: tensor<8x4xf32> {dist.input = "x", dist.sharding = #dist.sharding<@m, [{"tp"(1)2}, {}]>})
    -> (tensor<8x4xf32> {dist.output = "y", dist.sharding = #dist.sharding<@m, [{"tp"}, {}]>}) {
  %e = tensor.empty() : tensor<8x4xf32>
  %0 = linalg.exp ins(%x : tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
