// dist.fuse marks layers that read one tensor; on a device they are one contraction, however each of them is placed.
// RUN: dist-opt %s --split-input-file --dist-apply-schedule=report=false | FileCheck %s --check-prefix=MARKED
// RUN: dist-opt %s --split-input-file --dist-apply-schedule=report=false --dist-spmd | FileCheck %s
// RUN: dist-opt %s --split-input-file --dist-apply-schedule=report=false --dist-spmd --dist-join-parameters | FileCheck %s --check-prefix=JOINED

// The keys' 2 features are one for each device, as are half of the queries' 8. What does not read the same input is of
// another group.
// MARKED-LABEL: func.func @main
// MARKED: linalg.contract {{.*}} {dist.fuse = {by = {{[^,]*}}, group = [[G:.*]] : i64, weight = 1 : i64}, dist.scope = "a.q"}
// MARKED: linalg.contract {{.*}} {dist.fuse = {by = {{[^,]*}}, group = [[G]] : i64, weight = 1 : i64}, dist.scope = "a.k"}
// MARKED: linalg.contract {{.*}} {dist.scope = "a.o"}

// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[X:.*]]: tensor<3x6xf32>
// CHECK-SAME: %[[WQ:.*]]: tensor<4x6xf32>
// CHECK-SAME: %[[WK:.*]]: tensor<1x6xf32>
// CHECK: %[[W:.*]] = tensor.concat dim(0) %[[WQ]], %[[WK]] {dist.scope = "a"} : (tensor<4x6xf32>, tensor<1x6xf32>) -> tensor<5x6xf32>
// CHECK: %[[E:.*]] = tensor.empty() {dist.scope = "a"} : tensor<3x5xf32>
// CHECK: %[[Z:.*]] = linalg.fill {dist.scope = "a"} ins(%{{.*}} : f32) outs(%[[E]] :
// CHECK: %[[QK:.*]] = linalg.contract {{.*}} {dist.scope = "a"} ins(%[[X]], %[[W]] : tensor<3x6xf32>, tensor<5x6xf32>) outs(%[[Z]] : tensor<3x5xf32>)
// CHECK: %[[Q:.*]] = tensor.extract_slice %[[QK]][0, 0] [3, 4] [1, 1] {dist.scope = "a.q"}
// CHECK: %[[K:.*]] = tensor.extract_slice %[[QK]][0, 4] [3, 1] [1, 1] {dist.scope = "a.k"}
// CHECK: math.exp %[[K]]
// CHECK: linalg.contract {{.*}} {dist.scope = "a.o"} ins(%[[Q]],

// A rank loads its parts of both beside each other. What another op reads too is there by itself as well.
// JOINED-LABEL: func.func @main
// JOINED-SAME: %[[WK:[^:]*]]: tensor<1x6xf32> {dist.global_type = tensor<2x6xf32>, dist.parameter = "a.k.weight"
// JOINED-SAME: %[[W:[^:]*]]: tensor<5x6xf32> {dist.joined = {dim = 0 : i64, pieces = [
// JOINED-SAME: {dist.global_type = tensor<8x6xf32>, dist.parameter = "a.q.weight", dist.sharding = #dist.sharding<@m, [{"tp"}, {}]>, type = tensor<4x6xf32>}
// JOINED-SAME: {dist.global_type = tensor<2x6xf32>, dist.parameter = "a.k.weight", dist.sharding = #dist.sharding<@m, [{"tp"}, {}]>, type = tensor<1x6xf32>}
// JOINED-SAME: dist.parameter = "a.q.weight + a.k.weight"}
// JOINED-NOT: tensor.concat
// JOINED: linalg.contract {{.*}} ins(%{{.*}}, %[[W]] :
dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  dist.fuse "a.{q,k}" expect 1
  dist.shard "a.{q,k}" column over "tp"
  dist.shard "a.o" row over "tp"
}
func.func @main(%x: tensor<3x6xf32>, %wq: tensor<8x6xf32> {dist.parameter = "a.q.weight"},
    %wk: tensor<2x6xf32> {dist.parameter = "a.k.weight"}, %wo: tensor<6x8xf32> {dist.parameter = "a.o.weight"})
    -> (tensor<3x6xf32>, tensor<3x2xf32>, tensor<2x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %eq = tensor.empty() : tensor<3x8xf32>
  %fq = linalg.fill ins(%zero : f32) outs(%eq : tensor<3x8xf32>) -> tensor<3x8xf32>
  %q = linalg.contract indexing_maps = [affine_map<(b, n, k) -> (b, k)>, affine_map<(b, n, k) -> (n, k)>, affine_map<(b, n, k) -> (b, n)>]
      {dist.scope = "a.q"} ins(%x, %wq : tensor<3x6xf32>, tensor<8x6xf32>) outs(%fq : tensor<3x8xf32>) -> tensor<3x8xf32>
  %ek = tensor.empty() : tensor<3x2xf32>
  %fk = linalg.fill ins(%zero : f32) outs(%ek : tensor<3x2xf32>) -> tensor<3x2xf32>
  %k = linalg.contract indexing_maps = [affine_map<(b, n, k) -> (b, k)>, affine_map<(b, n, k) -> (n, k)>, affine_map<(b, n, k) -> (b, n)>]
      {dist.scope = "a.k"} ins(%x, %wk : tensor<3x6xf32>, tensor<2x6xf32>) outs(%fk : tensor<3x2xf32>) -> tensor<3x2xf32>
  %kx = math.exp %k : tensor<3x2xf32>
  %wx = math.exp %wk : tensor<2x6xf32>
  %eo = tensor.empty() : tensor<3x6xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<3x6xf32>) -> tensor<3x6xf32>
  %o = linalg.contract indexing_maps = [affine_map<(b, n, k) -> (b, k)>, affine_map<(b, n, k) -> (n, k)>, affine_map<(b, n, k) -> (b, n)>]
      {dist.scope = "a.o"} ins(%q, %wo : tensor<3x8xf32>, tensor<6x8xf32>) outs(%fo : tensor<3x6xf32>) -> tensor<3x6xf32>
  return %o, %kx, %wx : tensor<3x6xf32>, tensor<3x2xf32>, tensor<2x6xf32>
}
