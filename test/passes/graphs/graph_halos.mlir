// dist.graph_halo: rows that indices name in place of all, forward and backward; what cannot be so is an error at the
// directive.
// RUN: split-file %s %t
// RUN: dist-opt %t/model.mlir --dist-apply-schedule="file=%t/even.mlir report=false" --dist-spmd | FileCheck %s --check-prefix=EVEN
// The model's own name means all that is in it.
// RUN: sed 's/graph_halo "l"/graph_halo ""/' %t/even.mlir > %t/all.mlir
// RUN: dist-opt %t/model.mlir --dist-apply-schedule="file=%t/all.mlir report=false" -o %t/said.mlir
// RUN: dist-opt %t/said.mlir --dist-spmd | FileCheck %s --check-prefix=EVEN
// RUN: dist-opt %t/model.mlir --dist-apply-schedule="file=%t/uneven.mlir report=false" --dist-spmd | FileCheck %s --check-prefix=THREE
// RUN: dist-opt %t/model.mlir --dist-apply-schedule="file=%t/even.mlir report=false" --dist-differentiate="cotangent=dy of=y wrt=**" --dist-spmd | FileCheck %s --check-prefix=BACK
// RUN: dist-opt %t/model.mlir --dist-apply-schedule="file=%t/one.mlir report=false" --dist-spmd | FileCheck %s --check-prefix=ALONE
// RUN: not dist-opt %t/model.mlir --dist-apply-schedule="file=%t/nothing.mlir report=false" --dist-spmd 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: not dist-opt %t/model.mlir --dist-apply-schedule="file=%t/whole.mlir report=false" --dist-spmd 2>&1 | FileCheck %s --check-prefix=WHOLE
// RUN: not dist-opt %t/model.mlir --dist-apply-schedule="file=%t/even.mlir report=false" --dist-spmd=turns=gp 2>&1 | FileCheck %s --check-prefix=TURNS
// RUN: not dist-opt %t/model.mlir --dist-apply-schedule="file=%t/twice.mlir report=false" 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not dist-opt %t/model.mlir --dist-apply-schedule="file=%t/module.mlir report=false" 2>&1 | FileCheck %s --check-prefix=MODULE
// Any graph, on any number of ranks.
// RUN: %{npy} make %t/edges.npy i64 2,61 "random.randrange(25) if n < 121 else 24" && %{npy} make %t/wrong.npy i64 2,61 "random.randrange(26) if n < 121 else 25"
// RUN: dist-run %t/model.mlir --schedule %t/even.mlir --mesh gp=2 --random --input edges=%t/edges.npy --verify=f64 %{opt} | FileCheck %s --check-prefix=EQUAL
// RUN: dist-run %t/model.mlir --schedule %t/even.mlir --mesh gp=7 --random --input edges=%t/edges.npy --verify=f64 %{opt} | FileCheck %s --check-prefix=EQUAL
// RUN: dist-run %t/model.mlir --schedule %t/even.mlir --mesh gp=3 --random --input edges=%t/edges.npy --overlap=auto --machine cpu --streams late --verify=f64 %{opt} | FileCheck %s --check-prefix=EQUAL
// EQUAL: y: equal to the program on one rank
// An index that names no row ends the run, and says where.
// RUN: not dist-run %t/model.mlir --schedule %t/even.mlir --random --input edges=%t/wrong.npy 2>&1 | FileCheck %s --check-prefix=RANGE
// RANGE: error: {{.*}}_rows of f32 outer=1 whole=25 inner=8 over communicator 0 (site {{[0-9]+}}: l): index {{[0-9]+}} must be in [0, 25), not 25
// Rows that are not in front, and a table that is transposed between; the gradient's sums, too, one of them transposed.
// RUN: dist-opt %t/batched.mlir --dist-apply-schedule="file=%t/batched_parts.mlir report=false" --dist-differentiate="cotangent=dy of=y wrt=**" -o %t/gradients.mlir
// RUN: dist-opt %t/gradients.mlir --dist-spmd | FileCheck %s --check-prefix=BATCH
// RUN: dist-run %t/gradients.mlir --random --input edges=%t/edges.npy --verify=f64 %{opt} | FileCheck %s --check-prefixes=EQUAL,GRADIENT
// GRADIENT: x.grad: equal to the program on one rank
// As a plan, which means the same.
// RUN: dist-report %t/model.mlir --schedule %t/even.mlir --plan -o %t/plan.json && FileCheck %s --check-prefix=WRITTEN --input-file=%t/plan.json
// RUN: dist-opt %t/model.mlir --dist-apply-plan="file=%t/plan.json report=false" --dist-spmd | FileCheck %s --check-prefix=EVEN
// WRITTEN: "graph_halo": {
// WRITTEN-NEXT: "l": ["gp"]

// What is sent is known when the program runs.
// RUN: dist-report %t/model.mlir --schedule %t/even.mlir | FileCheck %s --check-prefix=REPORT
// REPORT: gather_rows, reduce_rows: at most; how many rows indices name is known when the program runs (dist-run --trace)
// RUN: dist-report %t/model.mlir --schedule %t/even.mlir --json | FileCheck %s --check-prefix=JSON
// JSON: "op":"gather_rows"
// JSON-SAME: "bytes_sent_per_rank":416,"at_most":true

// EVEN:     dist.gather_rows %arg0[%[[SRC:.*]]] dim 0 of 25 over "gp" on @{{m|plan}} cause "{{.*}}" {dist.scope = "l"} : tensor<13x8xf32>[tensor<31xi64>] -> tensor<31x8xf32>
// EVEN:     %[[SUM:.*]] = dist.reduce_rows %{{.*}}[%[[DST:.*]]] dim 0 of 25 over "gp" on @{{m|plan}}
// EVEN-NOT: dist.all_gather
// EVEN-NOT: dist.reduce_scatter

// Rows over one axis, with features over the other.
// THREE:     dist.gather_rows %{{.*}} dim 0 of 25 over "gp" on @m cause "{{.*}}" {dist.scope = "l"} : tensor<9x4xf32>[tensor<21xi64>] -> tensor<21x4xf32>
// THREE:     dist.reduce_rows %{{.*}} : tensor<21x4xf32>[tensor<21xi64>] -> tensor<9x4xf32>

// A gather for each sum and a sum for each gather, of the same indices.
// BACK:     dist.gather_rows %arg0[%[[SRC:[a-z0-9_]*]]]
// BACK:     dist.reduce_rows %{{.*}}[%[[DST:[a-z0-9_]*]]]
// BACK:     dist.gather_rows %{{.*}}[%[[DST]]]
// BACK:     dist.reduce_rows %{{.*}}[%[[SRC]]]
// BACK-NOT: dist.reduce_scatter

// BATCH-NOT: dist.all_gather
// BATCH:     dist.gather_rows %arg0[%[[SRC:[a-z0-9_]*]]] dim 1 of 25 over "gp"
// BATCH:     dist.gather_rows %{{.*}}[%[[DST:[a-z0-9_]*]]] dim 0 of 25 over "gp"
// BATCH:     %[[HOME:.*]] = dist.reduce_rows %{{.*}}[%[[DST]]] dim 0 of 25 over "gp"
// BATCH:     linalg.transpose ins(%[[HOME]]
// BATCH:     dist.reduce_rows %{{.*}}[%[[SRC]]] dim 1 of 25 over "gp"
// BATCH-NOT: dist.reduce_scatter

// One device has all rows: nothing is exchanged, and nothing wrong.
// ALONE-NOT: _rows

// NOTHING: nothing.mlir:4:3: error: dist.graph_halo: module "l" has no lookup of rows that are gathered over "gp", nor sums by index that are scattered over it: place the rows and the indices over it
// TURNS: even.mlir:6:3: error: dist.graph_halo: axis "gp" is done in turns
// WHOLE: whole.mlir:6:3: error: dist.graph_halo: module "l" looks rows up that something else has gathered, too: place what that reads over the same axes
// WHOLE: model.mlir:{{[0-9]+}}:{{[0-9]+}}: note: this reads all rows
// TWICE: twice.mlir:5:3: error: module "l" has a dist.graph_halo from a directive before; leave one out
// MODULE: module.mlir:3:3: error: "layers.*" matches none of the program's 3 modules

//--- model.mlir
#row = affine_map<(n, c) -> (n, c)>
func.func @main(%x: tensor<25x8xf32> {dist.input = "x"}, %edges: tensor<2x61xi64> {dist.input = "edges"}) -> (tensor<25x8xf32> {dist.output = "y"}, tensor<8xf32> {dist.output = "z"}) {
  %s0 = tensor.extract_slice %edges[0, 0] [1, 61] [1, 1] {dist.scope = "l"} : tensor<2x61xi64> to tensor<61xi64>
  %s1 = tensor.extract_slice %edges[1, 0] [1, 61] [1, 1] {dist.scope = "l"} : tensor<2x61xi64> to tensor<61xi64>
  %src = tensor.expand_shape %s0 [[0, 1]] output_shape [61, 1] {dist.scope = "l"} : tensor<61xi64> into tensor<61x1xi64>
  %dst = tensor.expand_shape %s1 [[0, 1]] output_shape [61, 1] {dist.scope = "l"} : tensor<61xi64> into tensor<61x1xi64>
  %rows = tensor.gather %x[%src] gather_dims([0]) {dist.scope = "l"} : (tensor<25x8xf32>, tensor<61x1xi64>) -> tensor<61x8xf32>
  %e = tensor.empty() : tensor<61x8xf32>
  %m = linalg.tanh {dist.scope = "l"} ins(%rows : tensor<61x8xf32>) outs(%e : tensor<61x8xf32>) -> tensor<61x8xf32>
  %zero = arith.constant dense<0.0> : tensor<25x8xf32>
  %sums = dist.scatter_add %m into %zero[%dst] dims [0] {dist.scope = "l"} : tensor<61x8xf32> into tensor<25x8xf32>[tensor<61x1xi64>]
  %f = tensor.empty() : tensor<25x8xf32>
  %y = linalg.add {dist.scope = "after"} ins(%sums, %x : tensor<25x8xf32>, tensor<25x8xf32>) outs(%f : tensor<25x8xf32>) -> tensor<25x8xf32>
  // Reads all rows, where "x" is placed whole for it.
  %none = arith.constant 0.0 : f32
  %g = tensor.empty() : tensor<8xf32>
  %h = linalg.fill ins(%none : f32) outs(%g : tensor<8xf32>) -> tensor<8xf32>
  %z = linalg.reduce ins(%x : tensor<25x8xf32>) outs(%h : tensor<8xf32>) dimensions = [0] {dist.scope = "sum"}
    (%a: f32, %b: f32) {
      %0 = arith.maximumf %a, %b : f32
      linalg.yield %0 : f32
    }
  return %y, %z : tensor<25x8xf32>, tensor<8xf32>
}
//--- even.mlir
dist.mesh @m ["gp" = 2]
dist.schedule @s on @m {
  dist.shard input "x" [{"gp"}, {}]
  dist.shard input "edges" [{}, {"gp"}]
  dist.shard output "y" [{"gp"}, {}]
  dist.graph_halo "l" over "gp"
}
//--- uneven.mlir
dist.mesh @m ["gp" = 3, "tp" = 2]
dist.schedule @s on @m {
  dist.shard input "x" [{"gp"}, {"tp"}]
  dist.shard input "edges" [{}, {"gp"}]
  dist.shard output "y" [{"gp"}, {"tp"}]
  dist.graph_halo "l" over "gp"
}
//--- one.mlir
dist.mesh @m ["gp" = 1]
dist.schedule @s on @m {
  dist.shard input "x" [{"gp"}, {}]
  dist.shard input "edges" [{}, {"gp"}]
  dist.graph_halo "l" over "gp"
}
//--- nothing.mlir
dist.mesh @m ["gp" = 2]
dist.schedule @s on @m {
  dist.shard input "x" [{}, {"gp"}]
  dist.graph_halo "l" over "gp"
}
//--- whole.mlir
dist.mesh @m ["gp" = 2]
dist.schedule @s on @m {
  dist.shard input "x" [{"gp"}, {}]
  dist.shard input "edges" [{}, {"gp"}]
  dist.shard "sum" input [{}, {}]
  dist.graph_halo "l" over "gp"
}
//--- twice.mlir
dist.mesh @m ["gp" = 2]
dist.schedule @s on @m {
  dist.shard input "x" [{"gp"}, {}]
  dist.graph_halo "*" over "gp"
  dist.graph_halo "l" over "gp"
}
//--- module.mlir
dist.mesh @m ["gp" = 2]
dist.schedule @s on @m {
  dist.graph_halo "layers.*" over "gp"
}
//--- batched.mlir
func.func @main(%x: tensor<2x25x8xf32> {dist.input = "x"}, %edges: tensor<2x61xi64> {dist.input = "edges"}) -> (tensor<61x2x8xf32> {dist.output = "y"}) {
  %s0 = tensor.extract_slice %edges[0, 0] [1, 61] [1, 1] {dist.scope = "l"} : tensor<2x61xi64> to tensor<61xi64>
  %s1 = tensor.extract_slice %edges[1, 0] [1, 61] [1, 1] {dist.scope = "l"} : tensor<2x61xi64> to tensor<61xi64>
  %src = tensor.expand_shape %s0 [[0, 1]] output_shape [61, 1] {dist.scope = "l"} : tensor<61xi64> into tensor<61x1xi64>
  %dst = tensor.expand_shape %s1 [[0, 1]] output_shape [61, 1] {dist.scope = "l"} : tensor<61xi64> into tensor<61x1xi64>
  %a = tensor.gather %x[%src] gather_dims([1]) {dist.scope = "l"} : (tensor<2x25x8xf32>, tensor<61x1xi64>) -> tensor<61x2x8xf32>
  %e = tensor.empty() : tensor<25x2x8xf32>
  %t = linalg.transpose ins(%x : tensor<2x25x8xf32>) outs(%e : tensor<25x2x8xf32>) permutation = [1, 0, 2] {dist.scope = "l"}
  %b = tensor.gather %t[%dst] gather_dims([0]) {dist.scope = "l"} : (tensor<25x2x8xf32>, tensor<61x1xi64>) -> tensor<61x2x8xf32>
  %f = tensor.empty() : tensor<61x2x8xf32>
  %y = linalg.mul {dist.scope = "l"} ins(%a, %b : tensor<61x2x8xf32>, tensor<61x2x8xf32>) outs(%f : tensor<61x2x8xf32>) -> tensor<61x2x8xf32>
  return %y : tensor<61x2x8xf32>
}
//--- batched_parts.mlir
dist.mesh @m ["gp" = 3]
dist.schedule @s on @m {
  dist.shard input "x" [{}, {"gp"}, {}]
  dist.shard input "edges" [{}, {"gp"}]
  dist.shard output "y" [{"gp"}, {}, {}]
  dist.graph_halo "l" over "gp"
}
