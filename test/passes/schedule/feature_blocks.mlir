// `groups [a, b]` takes a contraction apart by blocks of its output features.
// RUN: dist-opt %s --split-input-file --dist-apply-schedule=report=false | FileCheck %s

// A weight that is stored transposed, blocks in the proportion 2 to 1, and an activation on the way: parts of the
// parameter are transposed, and what is cut out within a block is cut out of that block's result.

// CHECK-LABEL: func.func @transposed
// CHECK-SAME: (%[[X:[a-z0-9]+]]: tensor<3x4xf32>, %[[W0:[a-z0-9]+]]: tensor<8x4xf32> {{.*}}dist.parameter = "fc.weight", dist.part = #dist.part<[0, 0] of [12, 4]>, dist.sharding = #dist.sharding<@m, [{"tp"}, {?}]>
// CHECK-SAME: %[[W1:[a-z0-9]+]]: tensor<4x4xf32> {{.*}}dist.parameter = "fc.weight", dist.part = #dist.part<[8, 0] of [12, 4]>, dist.sharding = #dist.sharding<@m, [{"tp"}, {?}]>
// CHECK: %[[T0:.*]] = linalg.transpose ins(%[[W0]]
// CHECK: linalg.matmul {{.*}}%[[T0]] : tensor<3x4xf32>, tensor<4x8xf32>)
// CHECK-NEXT: dist.sharding_constraint %{{.*}} <@m, [{?}, {"tp"}]>
// CHECK: %[[A0:.*]] = linalg.exp {{.*}}tensor<3x8xf32>
// CHECK: %[[A1:.*]] = linalg.exp {{.*}}tensor<3x4xf32>
// CHECK: %[[CUT:.*]] = tensor.extract_slice %[[A0]][0, 2] [3, 4] [1, 1]
// CHECK: return %[[CUT]], %[[A1]]
dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  dist.shard "fc" column over "tp" groups [2, 1] expect 1
}
func.func @transposed(%x: tensor<3x4xf32>, %w: tensor<12x4xf32> {dist.parameter = "fc.weight"}) -> (tensor<3x4xf32>, tensor<3x4xf32>) {
  %et = tensor.empty() : tensor<4x12xf32>
  %t = linalg.transpose ins(%w : tensor<12x4xf32>) outs(%et : tensor<4x12xf32>) permutation = [1, 0] {dist.scope = "fc"}
  %e = tensor.empty() : tensor<3x12xf32>
  %y = linalg.matmul {dist.scope = "fc"} ins(%x, %t : tensor<3x4xf32>, tensor<4x12xf32>) outs(%e : tensor<3x12xf32>) -> tensor<3x12xf32>
  %a = linalg.exp ins(%y : tensor<3x12xf32>) outs(%e : tensor<3x12xf32>) -> tensor<3x12xf32>
  %0 = tensor.extract_slice %a[0, 2] [3, 4] [1, 1] : tensor<3x12xf32> to tensor<3x4xf32>
  %1 = tensor.extract_slice %a[0, 8] [3, 4] [1, 1] : tensor<3x12xf32> to tensor<3x4xf32>
  return %0, %1 : tensor<3x4xf32>, tensor<3x4xf32>
}

// -----

// What reads all blocks reads them side by side. So does what reads all of the parameter: each element is in one
// argument.

// CHECK-LABEL: func.func @whole
// CHECK-SAME: (%{{[a-z0-9]+}}: tensor<3x4xf32>, %[[W0:[a-z0-9]+]]: tensor<4x4xf32> {{.*}}dist.parameter = "fc.weight", dist.part = #dist.part<[0, 0] of [4, 6]>
// CHECK-SAME: %[[W1:[a-z0-9]+]]: tensor<4x2xf32> {{.*}}dist.parameter = "fc.weight", dist.part = #dist.part<[0, 4] of [4, 6]>
// CHECK-SAME: -> (tensor<3xf32>, tensor<4x6xf32>)
// CHECK: %[[W:.*]] = tensor.concat dim(1) %[[W0]], %[[W1]]
// CHECK: %[[Y:.*]] = tensor.concat dim(1)
// CHECK: %[[SUM:.*]] = linalg.reduce {{.*}}ins(%[[Y]]
// CHECK: return %[[SUM]], %[[W]]
dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  dist.shard "fc" column over "tp" groups [2, 1]
}
func.func @whole(%x: tensor<3x4xf32>, %w: tensor<4x6xf32> {dist.parameter = "fc.weight"}) -> (tensor<3xf32>, tensor<4x6xf32>) {
  %e = tensor.empty() : tensor<3x6xf32>
  %y = linalg.matmul {dist.scope = "fc"} ins(%x, %w : tensor<3x4xf32>, tensor<4x6xf32>) outs(%e : tensor<3x6xf32>) -> tensor<3x6xf32>
  %es = tensor.empty() : tensor<3xf32>
  %s = linalg.reduce { arith.addf } ins(%y : tensor<3x6xf32>) outs(%es : tensor<3xf32>) dimensions = [1]
  return %s, %w : tensor<3xf32>, tensor<4x6xf32>
}

// -----

// Of a size that is not known, some is not all.
// CHECK-LABEL: func.func @some
// CHECK: %[[Y0:.*]] = linalg.matmul
// CHECK: tensor.extract_slice %{{.*}}[0, 0] [%arg2, 4] [1, 1] : tensor<?x4xf32> to tensor<?x4xf32>
dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  dist.shard "fc" column over "tp" groups [2, 1]
}
func.func @some(%x: tensor<?x4xf32>, %n: index, %few: index, %w: tensor<4x6xf32> {dist.parameter = "fc.weight"}) -> tensor<?x4xf32> {
  %e = tensor.empty(%n) : tensor<?x6xf32>
  %y = linalg.matmul {dist.scope = "fc"} ins(%x, %w : tensor<?x4xf32>, tensor<4x6xf32>) outs(%e : tensor<?x6xf32>) -> tensor<?x6xf32>
  %0 = tensor.extract_slice %y[0, 0] [%few, 4] [1, 1] : tensor<?x6xf32> to tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// -----

// A result that updates an argument behind the weight still says which; what it updates stays whole.

// CHECK-LABEL: func.func @updated
// CHECK-SAME: (%{{[a-z0-9]+}}: tensor<3x4xf32>, %[[MEAN:[a-z0-9]+]]: tensor<6xf32> {dist.parameter = "mean", dist.updated}
// CHECK-SAME: dist.part = #dist.part<[0, 0] of [4, 6]>
// CHECK-SAME: dist.part = #dist.part<[0, 4] of [4, 6]>
// CHECK-SAME: -> (tensor<3x4xf32>, tensor<3x2xf32>, tensor<6xf32> {dist.output = "mean", dist.updates = 1 : i64})
// CHECK-NOT: dist.part = #dist.part<[0] of [6]>
// CHECK: return
dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  dist.shard "fc" column over "tp" groups [2, 1]
}
#rows = affine_map<(i, j) -> (i, j)>
#columns = affine_map<(i, j) -> (j)>
func.func @updated(%x: tensor<3x4xf32>, %w: tensor<4x6xf32> {dist.parameter = "fc.weight"}, %mean: tensor<6xf32> {dist.parameter = "mean", dist.updated})
    -> (tensor<3x4xf32>, tensor<3x2xf32>, tensor<6xf32> {dist.output = "mean", dist.updates = 2 : i64}) {
  %e = tensor.empty() : tensor<3x6xf32>
  %y = linalg.matmul {dist.scope = "fc"} ins(%x, %w : tensor<3x4xf32>, tensor<4x6xf32>) outs(%e : tensor<3x6xf32>) -> tensor<3x6xf32>
  %s = linalg.generic {indexing_maps = [#rows, #columns], iterator_types = ["reduction", "parallel"]}
      ins(%y : tensor<3x6xf32>) outs(%mean : tensor<6xf32>) {
  ^bb0(%a: f32, %c: f32):
    %2 = arith.addf %a, %c : f32
    linalg.yield %2 : f32
  } -> tensor<6xf32>
  %0 = tensor.extract_slice %y[0, 0] [3, 4] [1, 1] : tensor<3x6xf32> to tensor<3x4xf32>
  %1 = tensor.extract_slice %y[0, 4] [3, 2] [1, 1] : tensor<3x6xf32> to tensor<3x2xf32>
  return %0, %1, %s : tensor<3x4xf32>, tensor<3x2xf32>, tensor<6xf32>
}

// -----

// A scale that is read in other blocks by another layer stays whole: parts with common elements would be trained apart.

// CHECK-LABEL: func.func @other_blocks
// CHECK-SAME: tensor<6xf32> {dist.parameter = "scale"}
// CHECK-NOT: "scale"
dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  dist.shard "a" column over "tp" groups [2, 1]
  dist.shard "b" column over "tp" groups [1, 2]
}
#rows = affine_map<(i, j) -> (i, j)>
#columns = affine_map<(i, j) -> (j)>
func.func @other_blocks(%x: tensor<3x4xf32>, %wa: tensor<4x6xf32> {dist.parameter = "a.weight"},
    %wb: tensor<4x6xf32> {dist.parameter = "b.weight"}, %scale: tensor<6xf32> {dist.parameter = "scale"}) -> (tensor<3x6xf32>, tensor<3x6xf32>) {
  %e = tensor.empty() : tensor<3x6xf32>
  %ya = linalg.matmul {dist.scope = "a"} ins(%x, %wa : tensor<3x4xf32>, tensor<4x6xf32>) outs(%e : tensor<3x6xf32>) -> tensor<3x6xf32>
  %yb = linalg.matmul {dist.scope = "b"} ins(%x, %wb : tensor<3x4xf32>, tensor<4x6xf32>) outs(%e : tensor<3x6xf32>) -> tensor<3x6xf32>
  %sa = linalg.generic {indexing_maps = [#rows, #columns, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%ya, %scale : tensor<3x6xf32>, tensor<6xf32>) outs(%e : tensor<3x6xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<3x6xf32>
  %sb = linalg.generic {indexing_maps = [#rows, #columns, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%yb, %scale : tensor<3x6xf32>, tensor<6xf32>) outs(%e : tensor<3x6xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<3x6xf32>
  return %sa, %sb : tensor<3x6xf32>, tensor<3x6xf32>
}
