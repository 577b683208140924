// What says in a program where values live prints as it is written.
// RUN: dist-opt %s | dist-opt | FileCheck %s

// CHECK: dist.mesh @m ["dp" = 2, "tp" = 4]
dist.mesh @m ["dp" = 2, "tp" = 4]

// CHECK-LABEL: func.func @placements
// CHECK-SAME: %[[X:.*]]: tensor<2x16x64xf32>
func.func @placements(%x: tensor<2x16x64xf32>, %n: tensor<?x4xf32>) {
  // CHECK-NEXT: dist.sharding_constraint %[[X]] <@m, [{?}, {}, {"tp"}]> : tensor<2x16x64xf32>
  %0 = dist.sharding_constraint %x <@m, [{?}, {}, {"tp"}]> : tensor<2x16x64xf32>
  // CHECK-NEXT: dist.sharding_constraint %[[X]] <@m, [{}, {}, {}], partial = sum {"tp"}> cause "s.mlir:3: dist.shard \"fc\"" {dist.scope = "fc"} : tensor<2x16x64xf32>
  %1 = dist.sharding_constraint %x <@m, [{}, {}, {}], partial = sum {"tp"}> cause "s.mlir:3: dist.shard \"fc\"" {dist.scope = "fc"} : tensor<2x16x64xf32>
  // CHECK-NEXT: dist.sharding_constraint %[[X]] <@m, [{?}, {?}, {}]> whole "tp"(1)2, "dp" cause "s" : tensor<2x16x64xf32>
  %w = dist.sharding_constraint %x <@m, [{?}, {?}, {}]> whole "tp"(1)2, "dp" cause "s" : tensor<2x16x64xf32>
  // CHECK-NEXT: dist.sharding_constraint %{{.*}} <@m, [{"dp"}, {}]> : tensor<?x4xf32>
  %2 = dist.sharding_constraint %n <@m, [{"dp"}, {}]> : tensor<?x4xf32>

  // CHECK-NEXT: dist.reshard %[[X]] <@m, [{}, {}, {}], partial = sum {"tp"}> to <@m, [{}, {"tp"}, {}]> cause "because" : tensor<2x16x64xf32>
  %3 = dist.reshard %x <@m, [{}, {}, {}], partial = sum {"tp"}> to <@m, [{}, {"tp"}, {}]> cause "because" : tensor<2x16x64xf32>

  // CHECK-NEXT: dist.sync %[[X]] fwd_post reduce_scatter dim 1 over "tp" : tensor<2x16x64xf32>
  %4 = dist.sync %x fwd_post reduce_scatter dim 1 over "tp" : tensor<2x16x64xf32>
  // CHECK-NEXT: dist.sync %[[X]] fwd_post all_reduce over "dp", "tp"(1)2 : tensor<2x16x64xf32>
  %5 = dist.sync %x fwd_post all_reduce over "dp", "tp"(1)2 : tensor<2x16x64xf32>
  // CHECK-NEXT: dist.sync %[[X]] fwd_pre all_gather dim 0 over "tp" on @m cause "s.mlir:4" {dist.scope = "fc"} : tensor<2x16x64xf32>
  %6 = dist.sync %x fwd_pre all_gather dim 0 over "tp" on @m cause "s.mlir:4" {dist.scope = "fc"} : tensor<2x16x64xf32>
  // CHECK-NEXT: dist.sync %[[X]] bwd_post scatter dim 2 over "tp" : tensor<2x16x64xf32>
  %7 = dist.sync %x bwd_post scatter dim 2 over "tp" : tensor<2x16x64xf32>
  // CHECK-NEXT: dist.sync %[[X]] fwd_pre halo dim 1 low 2 high 0 over "tp" : tensor<2x16x64xf32>
  %h0 = dist.sync %x fwd_pre halo dim 1 low 2 high 0 over "tp" : tensor<2x16x64xf32>
  // CHECK-NEXT: dist.sync %[[X]] fwd_post halo dim 1 low 2 high 1 boundary constant -1.000000e+00 : f32 over "tp" : tensor<2x16x64xf32>
  %h1 = dist.sync %x fwd_post halo dim 1 low 2 high 1 boundary constant -1.0 : f32 over "tp" : tensor<2x16x64xf32>
  // In a sync zeros are told from nothing said.
  // CHECK-NEXT: dist.sync %[[X]] fwd_post halo dim 1 low 2 high 1 boundary zero over "tp" : tensor<2x16x64xf32>
  %h2 = dist.sync %x fwd_post halo dim 1 low 2 high 1 boundary zero over "tp" : tensor<2x16x64xf32>
  // CHECK-NEXT: dist.sync %[[X]] fwd_post all_to_all dim 1 to 2 over "tp" : tensor<2x16x64xf32>
  %8 = dist.sync %x fwd_post all_to_all dim 1 to 2 over "tp" : tensor<2x16x64xf32>
  return
}
