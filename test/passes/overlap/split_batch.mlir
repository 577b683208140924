// --dist-split-batch, and --turns of the tools: the batch in turns that a schedule knows nothing of.
// RUN: split-file %s %t
// RUN: dist-opt %t/model.mlir --dist-apply-schedule="file=%t/tp.mlir report=false" --dist-split-batch | FileCheck %s --check-prefix=SPLIT
// RUN: dist-opt %t/model.mlir --dist-apply-schedule="file=%t/tp.mlir report=false" --dist-split-batch --dist-spmd --dist-unroll-axis=axis=turn | FileCheck %s --check-prefix=TURNS
// RUN: dist-opt %t/model.mlir --dist-apply-schedule="file=%t/dp.mlir report=false" --dist-split-batch="turns=2 axis=chunk" | FileCheck %s --check-prefix=WITHIN
// RUN: not dist-opt %t/model.mlir --dist-apply-schedule="file=%t/tp.mlir report=false" --dist-split-batch=turns=3 2>&1 | FileCheck %s --check-prefix=THREE
// RUN: not dist-report %t/model.mlir --schedule %t/dp.mlir --mesh dp=512 --turns 2 2>&1 | FileCheck %s --check-prefix=PART
// RUN: not dist-opt %t/model.mlir --dist-apply-schedule="file=%t/tp.mlir report=false" --dist-split-batch=turns=1 2>&1 | FileCheck %s --check-prefix=ONE
// RUN: not dist-opt %t/model.mlir --dist-apply-schedule="file=%t/tp.mlir report=false" --dist-split-batch=axis=tp 2>&1 | FileCheck %s --check-prefix=AXIS
// RUN: not dist-opt %t/model.mlir --dist-split-batch 2>&1 | FileCheck %s --check-prefix=MESH
// RUN: not dist-opt %t/model.mlir --dist-apply-schedule="file=%t/tp.mlir report=false" --dist-spmd --dist-split-batch 2>&1 | FileCheck %s --check-prefix=PLACED
// What an input's parts are of stays said: sums that are not added up yet.
// RUN: dist-opt %t/partial.mlir --dist-split-batch | FileCheck %s --check-prefix=PARTIAL
// PARTIAL: %arg0: tensor<4x6xf32> {{.*}}dist.sharding = #dist.sharding<@m, [{"turn"}, {}], partial = max {"tp"}>
// As many turns as asked for, or two if the estimate says that it pays: here collectives take long, and there no time.
// RUN: dist-run %t/model.mlir --schedule %t/tp.mlir --turns 4 --random --verify=f64 %{opt} | FileCheck %s --check-prefix=EQUAL
// RUN: dist-run %t/model.mlir --schedule %t/tp.mlir --turns auto --overlap=auto --machine cpu --link bandwidth=500MB/s --overlap-memory 9 --random --verify=f64 %{opt} -v 2>&1 | FileCheck %s --check-prefixes=EQUAL,TWO
// RUN: dist-run %t/model.mlir --schedule %t/dp.mlir --turns auto --overlap=auto --machine cpu --random --verify=f64 %{opt} -v 2>&1 | FileCheck %s --check-prefixes=EQUAL,STAYS
// RUN: dist-run %t/model.mlir --schedule %t/odd.mlir --turns auto --overlap=auto --machine cpu --random --verify=f64 %{opt} -v 2>&1 | FileCheck %s --check-prefixes=EQUAL,CANNOT
// RUN: not dist-run %t/model.mlir --schedule %t/tp.mlir --turns auto --random 2>&1 | FileCheck %s --check-prefix=ALONE

// SPLIT: dist.mesh @m ["turn" = 2, "tp" = 2]
// SPLIT: @main(%arg0: tensor<512x256xf32> {dist.input = "x", dist.sharding = #dist.sharding<@m, [{"turn", ?}, {?}]>}, %arg1: tensor<512x256xf32> {dist.input = "r", dist.sharding = #dist.sharding<@m, [{"turn", ?}, {?}]>}, %arg2: tensor<256xf32> {dist.input = "b"},
// SPLIT-SAME: %arg3: tensor<256x256xf32>
// TURNS-COUNT-2: dist.all_reduce {{.*}} over "tp" {{.*}} : tensor<256x256xf32>
// TURNS-NOT: dist.all_reduce
// Of what a device has.
// WITHIN: dist.mesh @m ["chunk" = 2, "dp" = 2]
// WITHIN: [{"dp", "chunk"}, {}]
// THREE: model.mlir:4:1: error: 'func.func' op cannot be cut into 3 parts (--turns, --microbatches): the first input has 512 rows in dimension 0, the batch, which 3 does not divide
// PART-NOT: warning
// PART: model.mlir:4:1: error: 'func.func' op cannot be cut into 2 parts (--turns, --microbatches): of the 512 rows of argument 0, the batch, each of the 512 devices along "dp" has 1, which 2 does not divide: take a larger batch, or another number
// ONE: error: --dist-split-batch: turns=1: at least 2 are
// AXIS: error: 'dist.mesh' op has an axis 'tp' already; do that in turns, or name another one
// MESH: error: --dist-split-batch: has no dist.mesh, so that nothing is sent that turns could hide
// PLACED: error: --dist-split-batch: is placed already; turns are made before (level 0 or 1)
// TWO: remark: in two turns of the batch: {{.*}} ms estimated in one, {{.*}} ms in two
// STAYS: remark: in one turn: {{.*}} ms estimated in one, {{.*}} ms in two
// CANNOT: remark: in one turn: two are not possible: {{.+}}
// EQUAL: y: equal to the program on one rank
// ALONE: error: --turns=auto goes with --overlap=auto

//--- model.mlir
#x = affine_map<(b, n, k) -> (b, k)>
#w = affine_map<(b, n, k) -> (n, k)>
#y = affine_map<(b, n, k) -> (b, n)>
func.func @main(%x: tensor<512x256xf32> {dist.input = "x"}, %r: tensor<512x256xf32> {dist.input = "r"}, %b: tensor<256xf32> {dist.input = "b"},
                %w0: tensor<256x256xf32> {dist.input = "w0"}, %w1: tensor<256x256xf32> {dist.input = "w1"})
    -> (tensor<512x256xf32> {dist.output = "y"}) {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512x256xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<512x256xf32>) -> tensor<512x256xf32>
  %0 = linalg.contract indexing_maps = [#x, #w, #y] {dist.scope = "a"} ins(%x, %w0 : tensor<512x256xf32>, tensor<256x256xf32>) outs(%f : tensor<512x256xf32>) -> tensor<512x256xf32>
  %1 = linalg.tanh {dist.scope = "a"} ins(%0 : tensor<512x256xf32>) outs(%e : tensor<512x256xf32>) -> tensor<512x256xf32>
  %2 = linalg.contract indexing_maps = [#x, #w, #y] {dist.scope = "c"} ins(%1, %w1 : tensor<512x256xf32>, tensor<256x256xf32>) outs(%f : tensor<512x256xf32>) -> tensor<512x256xf32>
  %3 = linalg.add {dist.scope = "c"} ins(%2, %r : tensor<512x256xf32>, tensor<512x256xf32>) outs(%e : tensor<512x256xf32>) -> tensor<512x256xf32>
  %4 = linalg.broadcast ins(%b : tensor<256xf32>) outs(%e : tensor<512x256xf32>) dimensions = [0] {dist.scope = "c"}
  %5 = linalg.add {dist.scope = "c"} ins(%3, %4 : tensor<512x256xf32>, tensor<512x256xf32>) outs(%e : tensor<512x256xf32>) -> tensor<512x256xf32>
  return %5 : tensor<512x256xf32>
}
//--- tp.mlir
dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  dist.shard "a" output [{?}, {"tp"}]
  dist.shard input "w1" [{}, {"tp"}]
}
//--- dp.mlir
dist.mesh @m ["dp" = 2]
dist.schedule @s on @m {
  dist.shard input "{x,r}" [{"dp"}, {}]
}
//--- odd.mlir
dist.mesh @m ["tp" = 2, "dp" = 3]
dist.schedule @s on @m {
  dist.shard input "{x,r}" [{"dp"}, {}]
  dist.shard "a" output [{?}, {"tp"}]
  dist.shard input "w1" [{}, {"tp"}]
}
//--- partial.mlir
dist.mesh @m ["tp" = 2]
func.func @main(%x: tensor<4x6xf32> {dist.input = "x", dist.sharding = #dist.sharding<@m, [{}, {}], partial = max {"tp"}>}) -> (tensor<4x6xf32> {dist.output = "y"}) {
  return %x : tensor<4x6xf32>
}
