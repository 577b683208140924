// An index out of range on one of two ranks, before a collective: the run ends on both, and the message has place,
// value and rank. The first one stays.
// RUN: not dist-run %s --input x=random 2>&1 | FileCheck %s --check-prefix=BAD
// RUN: sed s/9/-1/g %s > %t.negative.mlir
// RUN: not dist-run %t.negative.mlir --input x=random 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: sed s/9/2/g %s > %t.good.mlir
// RUN: dist-run %t.good.mlir --input x=random --json | FileCheck %s --check-prefix=GOOD

// BAD: rank 1 (x=1): {{.*}}run_failed_index.mlir:[[#@LINE+8]]:8: an index of the gather is out of range: coordinates must be at least 0 and less than [5], not 9
// NEGATIVE: rank 1 (x=1): {{.*}}an index of the gather is out of range: coordinates must be at least 0 and less than [5], not -1
// GOOD: {"ok":true,{{.*}}"ranks":2
dist.mesh @m ["x" = 2]
func.func @main(%x: tensor<5xf32> {dist.input = "x", dist.global_type = tensor<5xf32>, dist.sharding = #dist.sharding<@m, [{}]>})
    -> (tensor<1xf32> {dist.global_type = tensor<1xf32>, dist.sharding = #dist.sharding<@m, [{}]>}) {
  %i = dist.local_constant dense<[4, 9]> : tensor<2xi64> <@m, [{"x"}]> -> tensor<1xi64>
  %at = tensor.expand_shape %i [[0, 1]] output_shape [1, 1] : tensor<1xi64> into tensor<1x1xi64>
  %0 = tensor.gather %x[%at] gather_dims([0]) : (tensor<5xf32>, tensor<1x1xi64>) -> tensor<1xf32>
  %1 = dist.all_reduce %0 sum over "x" : tensor<1xf32>
  return %1 : tensor<1xf32>
}
