// Directives that place what goes into a module and out of it, and whole tensors.
// RUN: dist-opt %s --split-input-file --dist-apply-schedule=report=false | FileCheck %s

// The input of m is placed where m reads it, its output where others do; two
// directives that say different dimensions of one value add up.

// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK-SAME: dist.parameter = "m.weight", dist.sharding = #dist.sharding<@m, [{}]>
// CHECK: %[[IN:.*]] = dist.sharding_constraint %[[X]] <@m, [{"dp"}, {}]> cause "{{.*}}: dist.shard \"m\" input [{\"dp\"}, {}]" {dist.scope = "m"}
// CHECK: %[[A:.*]] = math.exp %[[IN]] {dist.scope = "m"}
// CHECK: %[[B:.*]] = linalg.broadcast
// CHECK: %[[C:.*]] = arith.mulf %[[A]], %[[B]] {dist.scope = "m.inner"}
// CHECK: %[[OUT:.*]] = dist.sharding_constraint %[[C]] <@m, [{"dp"}, {"tp"}]> cause "{{.*}}output 0 {{.*}}; {{.*}} expect 1" {dist.scope = "m"}
// CHECK: math.absf %[[C]] {dist.scope = "m"}
// CHECK: math.cos %[[X]] {dist.scope = "other"}
// CHECK: math.sin %[[OUT]] {dist.scope = "other"}
dist.mesh @m ["dp" = 2, "tp" = 4]
dist.schedule @s on @m {
  dist.shard "m" input [{"dp"}, {}]
  dist.shard "m" output 0 [{"dp"}, {}]
  dist.shard "m" output [{}, {"tp"}] expect 1
  dist.shard parameter "**" replicate
}
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8xf32> {dist.parameter = "m.weight"}) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = math.exp %x {dist.scope = "m"} : tensor<4x8xf32>
  %e = tensor.empty() : tensor<4x8xf32>
  %1 = linalg.broadcast ins(%w : tensor<8xf32>) outs(%e : tensor<4x8xf32>) dimensions = [0] {dist.scope = "m"}
  %2 = arith.mulf %0, %1 {dist.scope = "m.inner"} : tensor<4x8xf32>
  %3 = math.absf %2 {dist.scope = "m"} : tensor<4x8xf32>
  %4 = math.cos %x {dist.scope = "other"} : tensor<4x8xf32>
  %5 = math.sin %2 {dist.scope = "other"} : tensor<4x8xf32>
  return %4, %5 : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// After a column-parallel contraction its module may be asked to give the whole (gather_output of Megatron's layer).

// CHECK-LABEL: func.func @main
// CHECK: %[[Y:.*]] = linalg.matmul
// CHECK: %[[CUT:.*]] = dist.sharding_constraint %[[Y]] <@m, [{?}, {"tp"}]>
// CHECK: %[[WHOLE:.*]] = dist.sharding_constraint %[[CUT]] <@m, [{}, {}]>
// CHECK: math.exp %[[WHOLE]]
dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  dist.shard "fc" column over "tp"
  dist.shard "fc" output replicate
}
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x16xf32> {dist.parameter = "fc.weight"}) -> tensor<4x16xf32> {
  %e = tensor.empty() : tensor<4x16xf32>
  %0 = linalg.matmul {dist.scope = "fc"} ins(%x, %w : tensor<4x8xf32>, tensor<8x16xf32>) outs(%e : tensor<4x16xf32>) -> tensor<4x16xf32>
  %1 = math.exp %0 {dist.scope = "act"} : tensor<4x16xf32>
  return %1 : tensor<4x16xf32>
}
