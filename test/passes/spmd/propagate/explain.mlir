// RUN: dist-opt %s --dist-explain -o %t | FileCheck %s

// Where a placement came from, step by step, and what lost.
dist.mesh @m ["x" = 4]

// CHECK: %transposed = linalg.transpose: #dist.sharding<@m, [{"x"}, {}]>
// CHECK-NEXT: dimension 0 {"x"}:
// CHECK-NEXT: round 1: through arith.addf from %arg1, dimension 0
// CHECK-NEXT: asked for by the sharding of argument 1 ({{.*}}explain.mlir:[[#]])
// CHECK-NEXT: dimension 1 is not {"x"}, as linalg.transpose would have it, after the sharding of argument 0
func.func @f(%a: tensor<16x8xf32> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>},
             %b: tensor<8x16xf32> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>}) -> tensor<8x16xf32> {
  %e = tensor.empty() : tensor<8x16xf32>
  %0 = linalg.transpose ins(%a : tensor<16x8xf32>) outs(%e : tensor<8x16xf32>) permutation = [1, 0]
  %1 = arith.addf %0, %b : tensor<8x16xf32>
  return %1 : tensor<8x16xf32>
}
