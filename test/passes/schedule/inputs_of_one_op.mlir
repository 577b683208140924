// Inputs that one op reads keep their numbers when a directive has spoken of the first of them.
// RUN: split-file %s %t
// RUN: dist-opt %t/model.mlir --dist-apply-schedule="file=%t/s.mlir report=false" | FileCheck %s
// RUN: dist-report %t/model.mlir --schedule %t/s.mlir --plan -o %t/plan.json
// RUN: dist-opt %t/model.mlir --dist-apply-plan=file=%t/plan.json 2>&1 | FileCheck %s --check-prefix=PLAN
// CHECK-DAG: %[[X:.*]] = dist.sharding_constraint %arg0 <@m, [{"tp"}, {}]>
// CHECK-DAG: %[[S:.*]] = dist.sharding_constraint %arg1 <@m, [{}]>
// CHECK: linalg.generic {{.*}} ins(%[[X]], %[[S]] :
// PLAN: dist.shard "/a/" input 1 {{.*}}: 1 place
// PLAN: linalg.generic
//--- model.mlir
func.func @main(%x: tensor<8x6xf32> {dist.input = "x"}, %s: tensor<6xf32> {dist.input = "s"}) -> (tensor<8x6xf32> {dist.output = "y"}) {
  %e = tensor.empty() : tensor<8x6xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x, %s : tensor<8x6xf32>, tensor<6xf32>) outs(%e : tensor<8x6xf32>) attrs = {dist.scope = "a"} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    linalg.yield %m : f32
  } -> tensor<8x6xf32>
  return %0 : tensor<8x6xf32>
}
//--- s.mlir
dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  dist.shard "a" input 0 [{"tp"}, {}]
  dist.shard "a" input 1 [{}]
}
