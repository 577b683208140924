// Every form of a sharding, printed as written; in its short form inside the
// ops that have one, and as an attribute of any op.
// RUN: dist-opt %s | dist-opt | FileCheck %s

// CHECK: dist.mesh @m ["dp" = 2, "tp" = 4, "odd name" = 1]
dist.mesh @m ["dp" = 2, "tp" = 4, "odd name" = 1]
// CHECK: dist.mesh @empty []
dist.mesh @empty []

// CHECK-LABEL: func.func private @shardings
func.func private @shardings(
    // CHECK-SAME: #dist.sharding<@m, []>
    tensor<f32> {dist.sharding = #dist.sharding<@m, []>},
    // CHECK-SAME: #dist.sharding<@m, [{}, {"tp"}]>
    tensor<8x8xf32> {dist.sharding = #dist.sharding<@m, [{}, {"tp"}]>},
    // Major to minor.
    // CHECK-SAME: #dist.sharding<@m, [{"dp", "tp"}]>
    tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{"dp", "tp"}]>},
    // Parts of an axis.
    // CHECK-SAME: #dist.sharding<@m, [{"tp"(2)2}, {"tp"(1)2}]>
    tensor<8x8xf32> {dist.sharding = #dist.sharding<@m, [{"tp"(2)2}, {"tp"(1)2}]>},
    // Open dimensions.
    // CHECK-SAME: #dist.sharding<@m, [{?}, {"tp", ?}]>
    tensor<8x8xf32> {dist.sharding = #dist.sharding<@m, [{?}, {"tp", ?}]>},
    // Interleaved ones, in the short form and in the long.
    // CHECK-SAME: #dist.sharding<@m, [{"tp"} groups 3, {"dp", ?} groups 2]>
    tensor<24x8xf32> {dist.sharding = #dist.sharding<@m, [{"tp"} groups 3, {"dp", ?} groups 2]>},
    // CHECK-SAME: #dist.sharding<@m, [{"tp"} groups 3]>
    tensor<24xf32> {dist.sharding = #dist.sharding<@m, [3:{} * {"tp"}]>},
    // CHECK-SAME: #dist.sharding<@m, [2:{"dp"} * {"tp"}]>
    tensor<24xf32> {dist.sharding = #dist.sharding<@m, [2:{"dp"} * {"tp"}]>},
    // CHECK-SAME: #dist.sharding<@m, [3:{} * 2:{"dp"} * {"tp"}]>
    tensor<24xf32> {dist.sharding = #dist.sharding<@m, [3:{} * 2:{"dp"} * {"tp"}]>},
    // One group is none.
    // CHECK-SAME: #dist.sharding<@m, [{"tp"}]>
    tensor<24xf32> {dist.sharding = #dist.sharding<@m, [{"tp"} groups 1]>},
    // Partial values.
    // CHECK-SAME: #dist.sharding<@m, [{}, {}], partial = sum {"tp"}>
    tensor<8x8xf32> {dist.sharding = #dist.sharding<@m, [{}, {}], partial = sum {"tp"}>},
    // CHECK-SAME: #dist.sharding<@m, [{"tp"(1)2}], partial = max {"dp", "tp"(2)2}>
    tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{"tp"(1)2}], partial = max {"dp", "tp"(2)2}>},
    // Sizes that the mesh does not divide are padded.
    // CHECK-SAME: #dist.sharding<@m, [{"tp"}]>
    tensor<5xf32> {dist.sharding = #dist.sharding<@m, [{"tp"}]>},
    // CHECK-SAME: #dist.sharding<@m, [{"tp"}]>
    tensor<?xf32> {dist.sharding = #dist.sharding<@m, [{"tp"}]>})

// CHECK-LABEL: func.func private @names
func.func private @names(
    // CHECK-SAME: {dist.parameter = "h.weight"}
    tensor<8xf32> {dist.parameter = "h.weight"},
    // A local tensor whose placement is checked against the whole one.
    // CHECK-SAME: {dist.global_type = tensor<24xf32>, dist.input = "x", dist.sharding = #dist.sharding<@m, [{"tp"} groups 3]>}
    tensor<6xf32> {dist.input = "x", dist.global_type = tensor<24xf32>, dist.sharding = #dist.sharding<@m, [{"tp"} groups 3]>})
    // CHECK-SAME: {dist.output = "y"}
    -> (tensor<8xf32> {dist.output = "y"})

// CHECK-LABEL: func.func private @every_reduction
// CHECK-SAME: partial = sum {{.*}} partial = prod {{.*}} partial = max {{.*}} partial = min {{.*}} partial = and {{.*}} partial = or
func.func private @every_reduction(
    tensor<8xi32> {dist.sharding = #dist.sharding<@m, [{}], partial = sum {"tp"}>},
    tensor<8xi32> {dist.sharding = #dist.sharding<@m, [{}], partial = prod {"tp"}>},
    tensor<8xi32> {dist.sharding = #dist.sharding<@m, [{}], partial = max {"tp"}>},
    tensor<8xi32> {dist.sharding = #dist.sharding<@m, [{}], partial = min {"tp"}>},
    tensor<8xi32> {dist.sharding = #dist.sharding<@m, [{}], partial = and {"tp"}>},
    tensor<8xi32> {dist.sharding = #dist.sharding<@m, [{}], partial = or {"tp"}>})

// CHECK-LABEL: func.func @ops
func.func @ops(%x: tensor<8xf32>, %i: index) -> tensor<8xf32> {
  // CHECK-NEXT: math.exp %{{.*}} {dist.scope = "h.0", dist.shardings = [#dist.sharding<@m, [{"tp"}]>]}
  %0 = math.exp %x {dist.scope = "h.0", dist.shardings = [#dist.sharding<@m, [{"tp"}]>]} : tensor<8xf32>
  // A result that is no tensor has no placement.
  // CHECK-NEXT: arith.addi {{.*}} {dist.shardings = [unit]}
  %1 = arith.addi %i, %i {dist.shardings = [unit]} : index
  return %0 : tensor<8xf32>
}

// The attributes alone.
// CHECK-LABEL: func.func private @alone
// CHECK-SAME: a = #dist.axis<"tp"(1)2>, b = #dist.dim<{"tp", ?}>, c = #dist.sub_dim<3:{"dp"}>, d = #dist.mesh_axis<"tp" = 4>
// CHECK-SAME: e = #dist.mesh_axes<["tp" = 4, "dp" = 2]>
// CHECK-SAME: f = #dist.reduction<max>, g = #dist.sync_mode<fwd_pre>, h = #dist.sync_kind<all_gather>, i = #dist.shard_target<column>
func.func private @alone() attributes {
  a = #dist.axis<"tp"(1)2>, b = #dist.dim<{"tp", ?}>, c = #dist.sub_dim<3:{"dp"}>,
  d = #dist.mesh_axis<"tp" = 4>, e = #dist.mesh_axes<["tp" = 4, "dp" = 2]>,
  f = #dist.reduction<max>, g = #dist.sync_mode<fwd_pre>, h = #dist.sync_kind<all_gather>,
  i = #dist.shard_target<column>}
