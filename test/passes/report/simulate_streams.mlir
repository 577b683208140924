// A collective on a stream goes on beside computation, on links that carry one
// transfer at a time; worked out by hand, on the machine of simulate.mlir.
// RUN: dist-report %s --simulate --machine %S/Inputs/machine.json --timeline %t.json | FileCheck %s --check-prefix=TABLE
// RUN: FileCheck %s --check-prefix=EVENT < %t.json
// RUN: dist-report %s --simulate --machine %S/Inputs/machine.json --json | FileCheck %s --check-prefix=JSON

dist.mesh @m ["a" = 4, "b" = 4]

func.func @main(%x: tensor<64xf32>, %l: tensor<200x200xf32>) -> (tensor<64xf32>,
    tensor<64xf32>, tensor<200x200xf32>) {
  // The first takes 10 + 6 * 1 + 0.384 s, and the second, on the same links,
  // begins where it ends: both are there at 32.768 s. Starting takes 2 s each.
  // EVENT: "name":"all_reduce b"{{.*}}"ts":0,"dur":16384000,"args":{"scope":"","beside_computation":true
  %0 = dist.all_reduce %x sum over "b" {dist.stream = 1 : i32} : tensor<64xf32>
  // EVENT-SAME: "name":"all_reduce b"{{.*}}"ts":16384000,"dur":16384000,
  %1 = dist.all_reduce %x sum over "b" {dist.stream = 1 : i32} : tensor<64xf32>
  // 16e6 operations in 16 s and a start of 1 ms, half as slow again: from 4 s to
  // 28.0015 s.
  %e = tensor.empty() : tensor<200x200xf32>
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<200x200xf32>) -> tensor<200x200xf32>
  // EVENT-SAME: "name":"matmul"{{.*}}"ts":4000000,"dur":24001500,
  %p = linalg.matmul ins(%l, %l : tensor<200x200xf32>, tensor<200x200xf32>) outs(%f : tensor<200x200xf32>) -> tensor<200x200xf32>
  return %0, %1, %p : tensor<64xf32>, tensor<64xf32>, tensor<200x200xf32>
}

// TABLE: simulated on sixteen: 32.8 s a step
// TABLE-NEXT: products 16.0 s
// TABLE: starting kernels 4.00 s
// TABLE-NEXT: communication over b 4.77 s
// TABLE-NEXT: computation slowed beside it 8.00 s
// TABLE-NEXT: 28.0 s more of communication, beside computation

// JSON: "simulation":{"machine":"sixteen","seconds":32.768{{[0-9]*}},{{.*}}"slowed_seconds":8.0005{{[0-9]*}},"waiting_seconds":0,"communication_seconds":4.7665{{[0-9]*}},"hidden_communication_seconds":28.0015{{[0-9]*}},
