// dist.overlap "…" chunks N: a collective in parts of a dimension that it leaves apart, with the products that make what
// is sent and that read what comes; errors at the directive's line.
// RUN: split-file %s %t
// RUN: dist-opt %t/model.mlir --dist-apply-schedule="file=%t/sum.mlir report=false" --dist-spmd --dist-chunk-collectives | FileCheck %s --check-prefix=SUM
// RUN: dist-opt %t/model.mlir --dist-apply-schedule="file=%t/three.mlir report=false" --dist-spmd --dist-chunk-collectives | FileCheck %s --check-prefix=THREE
// RUN: dist-opt %t/model.mlir --dist-apply-schedule="file=%t/gather.mlir report=false" --dist-spmd --dist-chunk-collectives | FileCheck %s --check-prefix=GATHER
// RUN: not dist-opt %t/model.mlir --dist-apply-schedule="file=%t/many.mlir report=false" --dist-spmd --dist-chunk-collectives 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: not dist-opt %t/model.mlir --dist-apply-schedule="file=%t/one.mlir" 2>&1 | FileCheck %s --check-prefix=ONE
// RUN: not dist-opt %t/model.mlir --dist-apply-schedule="file=%t/both.mlir" 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: dist-opt %t/sum.mlir | FileCheck %s --check-prefix=TEXT
// RUN: dist-run %t/model.mlir --schedule %t/sum.mlir --random --overlap=auto --machine cpu --streams late --verify=f64 %{opt} --rtol 1e-12 --atol 1e-12 | FileCheck %s --check-prefix=EQUAL
// RUN: dist-run %t/model.mlir --schedule %t/three.mlir --random --overlap=auto --machine cpu --streams late --verify=f64 %{opt} --rtol 1e-12 --atol 1e-12 | FileCheck %s --check-prefix=EQUAL
// RUN: dist-run %t/model.mlir --schedule %t/gather.mlir --random --overlap=auto --machine cpu --streams seed=3 --verify=f64 %{opt} --rtol 1e-12 --atol 1e-12 | FileCheck %s --check-prefix=EQUAL
// RUN: dist-opt %t/model.mlir --dist-apply-schedule="file=%t/two.mlir report=false" --dist-spmd --dist-chunk-collectives | FileCheck %s --check-prefix=TWO
// RUN: dist-run %t/model.mlir --schedule %t/two.mlir --random --overlap=auto --machine cpu --streams late --verify=f64 %{opt} --rtol 1e-12 --atol 1e-12 | FileCheck %s --check-prefix=EQUAL
// EQUAL: y: equal to the program on one rank

// TEXT: dist.overlap "b" chunks 2 expect 1

// The second product and the sum of it, then what is elementwise and the third product, by halves of the batch. What needs
// more than was there before the third product is left whole, and what it reads is put together.
// SUM:      %[[A0:.*]] = tensor.extract_slice {{.*}}[0, 0, 0] [2, 6, 16]
// SUM:      %[[B0:.*]] = linalg.contract {{.*}} ins(%[[A0]], {{.*}} -> tensor<2x6x8xf32>
// SUM:      %[[A1:.*]] = tensor.extract_slice {{.*}}[2, 0, 0] [2, 6, 16]
// SUM:      %[[B1:.*]] = linalg.contract {{.*}} ins(%[[A1]], {{.*}} -> tensor<2x6x8xf32>
// SUM-NEXT: %[[S0:.*]] = dist.all_reduce %[[B0]] sum over "tp"
// SUM-NEXT: %[[S1:.*]] = dist.all_reduce %[[B1]] sum over "tp"
// SUM-NOT:  dist.all_reduce
// SUM:      %[[R0:.*]] = linalg.generic {{.*}} ins(%[[S0]],
// SUM:      %[[R1:.*]] = linalg.generic {{.*}} ins(%[[S1]],
// SUM:      %[[R:.*]] = tensor.concat dim(0) %[[R0]], %[[R1]]
// SUM:      %[[C0:.*]] = linalg.contract {{.*}} ins(%[[R0]],
// SUM:      %[[C1:.*]] = linalg.contract {{.*}} ins(%[[R1]],
// SUM:      %[[C:.*]] = tensor.concat dim(0) %[[C0]], %[[C1]]
// SUM:      linalg.add {{.*}}ins(%[[R]], %[[C]]

// Four rows in three parts.
// THREE-COUNT-3: dist.all_reduce %{{.*}} : tensor<{{[12]}}x6x8xf32>

// What is gathered along the sequence is so by halves of the batch.
// GATHER: dist.all_gather {{.*}} dim 1 {{.*}} : tensor<2x3x8xf32> -> tensor<2x6x8xf32>
// GATHER: dist.all_gather {{.*}} dim 1 {{.*}} : tensor<2x3x8xf32> -> tensor<2x6x8xf32>
// GATHER: linalg.contract {{.*}} -> tensor<2x6x8xf32>

// Two modules, each by halves; what is elementwise between the products of both is done once.
// TWO-COUNT-2: dist.reduce_scatter %{{.*}} : tensor<2x6x8xf32> -> tensor<2x6x4xf32>
// TWO-COUNT-2: linalg.generic
// TWO-NOT:     linalg.generic
// TWO-COUNT-2: dist.reduce_scatter %{{.*}} : tensor<2x6x8xf32> -> tensor<2x6x4xf32>
// TWO-NOT:     dist.reduce_scatter

// MANY: many.mlir:5:3: error: dist.overlap: module "b" has no collective that can be done in so many chunks with a product beside it
// ONE: one.mlir:5:3: error: 'dist.overlap' op chunks 1: at least 2 are
// BOTH: both.mlir:6:3: error: module "b" has chunks 2 from a directive before; leave one out

//--- model.mlir
#x = affine_map<(b, s, n, k) -> (b, s, k)>
#w = affine_map<(b, s, n, k) -> (n, k)>
#y = affine_map<(b, s, n, k) -> (b, s, n)>
#r = affine_map<(b, s, n) -> (b, s, n)>
func.func @main(%x: tensor<4x6x8xf32> {dist.input = "x"}, %a: tensor<32x8xf32> {dist.input = "a.weight"},
                %b: tensor<8x32xf32> {dist.input = "b.weight"}, %c: tensor<8x8xf32> {dist.input = "c.weight"})
    -> (tensor<4x6x8xf32> {dist.output = "y"}) {
  %z = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<4x6x32xf32>
  %f0 = linalg.fill ins(%z : f32) outs(%e0 : tensor<4x6x32xf32>) -> tensor<4x6x32xf32>
  %0 = linalg.contract indexing_maps = [#x, #w, #y] {dist.scope = "a"} ins(%x, %a : tensor<4x6x8xf32>, tensor<32x8xf32>) outs(%f0 : tensor<4x6x32xf32>) -> tensor<4x6x32xf32>
  %1 = linalg.tanh {dist.scope = "a"} ins(%0 : tensor<4x6x32xf32>) outs(%e0 : tensor<4x6x32xf32>) -> tensor<4x6x32xf32>
  %e1 = tensor.empty() : tensor<4x6x8xf32>
  %f1 = linalg.fill ins(%z : f32) outs(%e1 : tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %2 = linalg.contract indexing_maps = [#x, #w, #y] {dist.scope = "b"} ins(%1, %b : tensor<4x6x32xf32>, tensor<8x32xf32>) outs(%f1 : tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %3 = linalg.generic {indexing_maps = [#r, #r, #r], iterator_types = ["parallel", "parallel", "parallel"]} ins(%2, %x : tensor<4x6x8xf32>, tensor<4x6x8xf32>) outs(%e1 : tensor<4x6x8xf32>) attrs = {dist.scope = "b"} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<4x6x8xf32>
  %4 = linalg.contract indexing_maps = [#x, #w, #y] {dist.scope = "c"} ins(%3, %c : tensor<4x6x8xf32>, tensor<8x8xf32>) outs(%f1 : tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %5 = linalg.add {dist.scope = "d"} ins(%3, %4 : tensor<4x6x8xf32>, tensor<4x6x8xf32>) outs(%e1 : tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  return %5 : tensor<4x6x8xf32>
}
//--- sum.mlir
dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  dist.shard "a" output [{}, {}, {"tp"}]
  dist.shard input "b.weight" [{}, {"tp"}]
  dist.overlap "b" chunks 2 expect 1
}
//--- three.mlir
dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  dist.shard "a" output [{}, {}, {"tp"}]
  dist.shard input "b.weight" [{}, {"tp"}]
  dist.overlap "b" chunks 3
}
//--- gather.mlir
dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  dist.shard input "x" [{}, {"tp"}, {}]
  dist.sync "b" fwd_post all_gather dim 1 over "tp"
  dist.overlap "b" chunks 2
}
//--- two.mlir
dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  dist.shard "a" output [{}, {}, {"tp"}]
  dist.shard input "b.weight" [{}, {"tp"}]
  dist.shard input "c.weight" [{}, {"tp"}]
  dist.overlap "b" chunks 2
  dist.overlap "c" chunks 2
}
//--- many.mlir
dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  dist.shard "a" output [{}, {}, {"tp"}]
  dist.shard input "b.weight" [{}, {"tp"}]
  dist.overlap "b" chunks 9
}
//--- one.mlir
dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  dist.shard "a" output [{}, {}, {"tp"}]
  dist.shard input "b.weight" [{}, {"tp"}]
  dist.overlap "b" chunks 1
}
//--- both.mlir
dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  dist.shard "a" output [{}, {}, {"tp"}]
  dist.shard input "b.weight" [{}, {"tp"}]
  dist.overlap "b" chunks 2
  dist.overlap "b" always
}
