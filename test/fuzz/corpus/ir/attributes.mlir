
dist.mesh @m ["dp" = 2, "tp" = 4, "odd name" = 1]
dist.mesh @empty []

func.func private @shardings(
    tensor<f32> {dist.sharding = #dist.sharding<@m, []>},
    tensor<8x8xf32> {dist.sharding = #dist.sharding<@m, [{}, {"tp"}]>},
    tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{"dp", "tp"}]>},
    tensor<8x8xf32> {dist.sharding = #dist.sharding<@m, [{"tp"(2)2}, {"tp"(1)2}]>},
    tensor<8x8xf32> {dist.sharding = #dist.sharding<@m, [{?}, {"tp", ?}]>},
    tensor<24x8xf32> {dist.sharding = #dist.sharding<@m, [{"tp"} groups 3, {"dp", ?} groups 2]>},
    tensor<24xf32> {dist.sharding = #dist.sharding<@m, [3:{} * {"tp"}]>},
    tensor<24xf32> {dist.sharding = #dist.sharding<@m, [2:{"dp"} * {"tp"}]>},
    tensor<24xf32> {dist.sharding = #dist.sharding<@m, [3:{} * 2:{"dp"} * {"tp"}]>},
    tensor<24xf32> {dist.sharding = #dist.sharding<@m, [{"tp"} groups 1]>},
    tensor<8x8xf32> {dist.sharding = #dist.sharding<@m, [{}, {}], partial = sum {"tp"}>},
    tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{"tp"(1)2}], partial = max {"dp", "tp"(2)2}>},
    tensor<5xf32> {dist.sharding = #dist.sharding<@m, [{"tp"}]>},
    tensor<?xf32> {dist.sharding = #dist.sharding<@m, [{"tp"}]>})

func.func private @names(
    tensor<8xf32> {dist.parameter = "h.weight"},
    tensor<6xf32> {dist.input = "x", dist.global_type = tensor<24xf32>, dist.sharding = #dist.sharding<@m, [{"tp"} groups 3]>})
    -> (tensor<8xf32> {dist.output = "y"})

func.func private @every_reduction(
    tensor<8xi32> {dist.sharding = #dist.sharding<@m, [{}], partial = sum {"tp"}>},
    tensor<8xi32> {dist.sharding = #dist.sharding<@m, [{}], partial = prod {"tp"}>},
    tensor<8xi32> {dist.sharding = #dist.sharding<@m, [{}], partial = max {"tp"}>},
    tensor<8xi32> {dist.sharding = #dist.sharding<@m, [{}], partial = min {"tp"}>},
    tensor<8xi32> {dist.sharding = #dist.sharding<@m, [{}], partial = and {"tp"}>},
    tensor<8xi32> {dist.sharding = #dist.sharding<@m, [{}], partial = or {"tp"}>})

func.func @ops(%x: tensor<8xf32>, %i: index) -> tensor<8xf32> {
  %0 = math.exp %x {dist.scope = "h.0", dist.shardings = [#dist.sharding<@m, [{"tp"}]>]} : tensor<8xf32>
  %1 = arith.addi %i, %i {dist.shardings = [unit]} : index
  return %0 : tensor<8xf32>
}

func.func private @alone() attributes {
  a = #dist.axis<"tp"(1)2>, b = #dist.dim<{"tp", ?}>, c = #dist.sub_dim<3:{"dp"}>,
  d = #dist.mesh_axis<"tp" = 4>, e = #dist.mesh_axes<["tp" = 4, "dp" = 2]>,
  f = #dist.reduction<max>, g = #dist.sync_mode<fwd_pre>, h = #dist.sync_kind<all_gather>,
  i = #dist.shard_target<column>}
