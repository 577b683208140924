// Placements that are somebody's word are marked, for the passes that improve reshards.
// RUN: dist-opt %s --split-input-file --dist-propagate --dist-insert-reshards | FileCheck %s

// CHECK-LABEL: func.func @constraint
// CHECK: dist.reshard {{.*}} to <@m, [{}, {}]> {{.*}}{dist.asked_for = "collective"
// CHECK: dist.reshard {{.*}} to <@m, [{}, {"x"}]>
// CHECK-NOT: asked_for
// CHECK: return
dist.mesh @m ["x" = 2]
func.func @constraint(%a: tensor<8x4xf32> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>})
    -> (tensor<8x4xf32> {dist.sharding = #dist.sharding<@m, [{}, {"x"}]>}) {
  %0 = dist.sharding_constraint %a <@m, [{}, {}]> : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

// CHECK-LABEL: func.func @sync
// CHECK: dist.reshard {{.*}}{dist.asked_for = "collective"
dist.mesh @m ["x" = 2]
func.func @sync(%a: tensor<8x4xf32> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>}) -> tensor<8x4xf32> {
  %0 = dist.sync %a fwd_pre all_gather dim 0 over "x" : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

// CHECK-LABEL: func.func @by_hand
// CHECK: dist.reshard {{.*}}{dist.asked_for = "reshard"
dist.mesh @m ["x" = 2]
func.func @by_hand(%a: tensor<8x4xf32> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>})
    -> (tensor<8x4xf32> {dist.sharding = #dist.sharding<@m, [{}, {}]>}) {
  %0 = dist.reshard %a <@m, [{"x"}, {}]> to <@m, [{}, {}]> cause "by hand" : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

// A cotangent that goes back through a sync is placed as what it follows, by whichever collective leads there.

// CHECK-LABEL: func.func @cotangent
// CHECK: dist.reshard {{.*}}{dist.asked_for = "placement"
dist.mesh @m ["x" = 2]
func.func @cotangent(%a: tensor<8x4xf32> {dist.sharding = #dist.sharding<@m, [{}, {"x"}]>},
                     %dy: tensor<8x4xf32> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>}) -> tensor<8x4xf32> {
  %0 = dist.follow %dy like %a moved {dist.backward} : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
