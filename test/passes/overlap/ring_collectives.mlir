// dist.overlap "…" ring: an all_gather passes blocks around, and what reads them computes each as it comes; of a
// reduce_scatter the sums of blocks go around, and what makes them makes each as it goes.
// RUN: split-file %s %t
// RUN: dist-opt %t/model.mlir --dist-apply-schedule="file=%t/gather.mlir report=false" --dist-spmd --dist-chunk-collectives --dist-verify-spmd | FileCheck %s --check-prefix=GATHER
// RUN: dist-opt %t/model.mlir --dist-apply-schedule="file=%t/scatter.mlir report=false" --dist-spmd --dist-chunk-collectives --dist-verify-spmd | FileCheck %s --check-prefix=SCATTER
// RUN: dist-opt %t/model.mlir --dist-apply-schedule="file=%t/weights.mlir report=false" --dist-spmd --dist-chunk-collectives --dist-verify-spmd | FileCheck %s --check-prefix=WEIGHTS
// RUN: not dist-opt %t/model.mlir --dist-apply-schedule="file=%t/sum.mlir report=false" --dist-spmd --dist-chunk-collectives 2>&1 | FileCheck %s --check-prefix=SUM
// RUN: not dist-opt %t/model.mlir --dist-apply-schedule="file=%t/both.mlir" 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: dist-opt %t/gather.mlir | FileCheck %s --check-prefix=TEXT
// RUN: dist-run %t/model.mlir --schedule %t/gather.mlir --random --overlap=auto --machine cpu --streams late --verify=f64 %{opt} --rtol 1e-12 --atol 1e-12 | FileCheck %s --check-prefix=EQUAL
// RUN: dist-run %t/model.mlir --schedule %t/gather.mlir --mesh tp=3 --random --overlap=auto --machine cpu --streams seed=3 --verify=f64 %{opt} --rtol 1e-12 --atol 1e-12 | FileCheck %s --check-prefix=EQUAL
// RUN: dist-run %t/model.mlir --schedule %t/gather.mlir --mesh tp=6 --random --overlap=auto --machine cpu --streams eager --verify=f64 %{opt} --rtol 1e-12 --atol 1e-12 | FileCheck %s --check-prefix=EQUAL
// RUN: dist-run %t/model.mlir --schedule %t/scatter.mlir --random --overlap=auto --machine cpu --streams late --verify=f64 %{opt} --rtol 1e-12 --atol 1e-12 | FileCheck %s --check-prefix=EQUAL
// RUN: dist-run %t/model.mlir --schedule %t/scatter.mlir --mesh tp=4 --random --overlap=auto --machine cpu --streams seed=5 --verify=f64 %{opt} --rtol 1e-12 --atol 1e-12 | FileCheck %s --check-prefix=EQUAL
// RUN: dist-run %t/model.mlir --schedule %t/weights.mlir --mesh tp=4 --random --overlap=auto --machine cpu --streams late --verify=f64 %{opt} --rtol 1e-12 --atol 1e-12 | FileCheck %s --check-prefix=EQUAL
// EQUAL: y: equal to the program on one rank

// Of two devices a ring adds up in the order of the ranks. (Columns enough that the library adds up products of half of them as
// of all: docs/internals/overlap.md, "When turns change bits".)
// RUN: sed 's/x8xf32/x32xf32/g; s/<8x/<32x/g' %t/model.mlir > %t/wide.mlir
// RUN: dist-run %t/wide.mlir --schedule %t/scatter.mlir --random=1 --output %t/given
// RUN: dist-run %t/wide.mlir --schedule %t/scatter.mlir --random=1 --overlap=auto --machine cpu --output %t/ring
// RUN: cmp %t/given/y.npy %t/ring/y.npy

// TEXT: dist.overlap "b" ring expect 1

// A device's own rows come first, then those of the next one; each is where it belongs.
// GATHER:      %[[HERE:.*]] = dist.axis_index "tp"
// GATHER:      %[[NEXT:.*]] = dist.send_recv %[[OWN:.*]] shift -1 periodic over "tp" {{.*}} : tensor<4x3x8xf32>
// GATHER-NOT:  dist.all_gather
// GATHER:      %[[C0:.*]] = linalg.contract {{.*}} ins(%[[OWN]],
// GATHER:      %[[C1:.*]] = linalg.contract {{.*}} ins(%[[NEXT]],
// GATHER:      tensor.insert_slice %[[C0]] into %{{.*}}[0, %{{.*}}, 0] [4, 3, 8] [1, 1, 1]
// GATHER:      tensor.insert_slice %[[C1]] into

// The other device's columns come first, and are on their way when its own are computed.
// SCATTER:      %[[B0:.*]] = linalg.contract {{.*}} -> tensor<4x6x4xf32>
// SCATTER:      %[[B1:.*]] = linalg.contract {{.*}} -> tensor<4x6x4xf32>
// SCATTER:      %[[R:.*]] = dist.send_recv %[[B0]] shift 1 periodic over "tp"
// SCATTER:      linalg.add {{.*}}ins(%[[R]], %[[B1]]
// SCATTER-NOT:  dist.reduce_scatter

// A parameter that is stored in parts is read block by block.
// WEIGHTS:      %[[NEXT:.*]] = dist.send_recv %{{.*}} shift -1 periodic over "tp" {{.*}} : tensor<4x8xf32>
// WEIGHTS:      linalg.contract {{.*}} -> tensor<2x6x4xf32>
// WEIGHTS:      linalg.contract {{.*}}%[[NEXT]] {{.*}} -> tensor<2x6x4xf32>
// WEIGHTS-NOT:  dist.all_gather

// SUM: sum.mlir:5:3: error: dist.overlap: module "b" has no all_gather whose blocks, as large on all devices, a product can read one by one, and no reduce_scatter of a sum whose blocks one can make so
// BOTH: both.mlir:6:3: error: module "b" has ring from a directive before; leave one out

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
//--- gather.mlir
dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  dist.shard input "x" [{}, {"tp"}, {}]
  dist.sync "b" fwd_post all_gather dim 1 over "tp"
  dist.overlap "b" ring expect 1
}
//--- scatter.mlir
dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  dist.shard "a" output [{}, {}, {"tp"}]
  dist.shard input "b.weight" [{}, {"tp"}]
  dist.shard input "c.weight" [{}, {"tp"}]
  dist.overlap "{b,c}" ring
}
//--- weights.mlir
dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  dist.shard input "x" [{"tp"}, {}, {}]
  dist.shard input "c.weight" [{"tp"}, {}]
  dist.overlap "c" ring
}
//--- sum.mlir
dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  dist.shard "a" output [{}, {}, {"tp"}]
  dist.shard input "b.weight" [{}, {"tp"}]
  dist.overlap "b" ring
}
//--- both.mlir
dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  dist.shard "a" output [{}, {}, {"tp"}]
  dist.shard input "b.weight" [{}, {"tp"}]
  dist.overlap "b" ring
  dist.overlap "b" chunks 2
}
