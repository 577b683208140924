// Collectives of the dist dialect become typed calls; each is described for the manifest.
// RUN: dist-opt %s --dist-lower-collectives | FileCheck %s

// CHECK: module attributes {
// CHECK-SAME: rt.collectives = [{axes = ["tp"], bytes_sent_per_rank = 96 : i64, comm = 0 : i32, dtype = "f32",
// CHECK-SAME: op = "all_reduce", reduce = "sum", shape = array<i64: 4, 4>}
// CHECK-SAME: op = "send_recv"
dist.mesh @m ["dp" = 2, "tp" = 4]

// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<4x4xf32>, %y: tensor<2x4x3xf32>)
    -> (tensor<4x4xf32>, tensor<4x16xf32>, tensor<1x4xf32>, tensor<2x1x12xf32>, tensor<2x4x3xf32>, tensor<2x7x3xf32>, tensor<4x4xf32>) {
  // CHECK: rt.all_reduce comm 0 site 0 <sum> ins(%{{.*}} : tensor<4x4xf32>) outs({{.*}}) -> tensor<4x4xf32>
  %0 = dist.all_reduce %x sum over "tp" : tensor<4x4xf32>
  // CHECK: rt.all_gather comm 0 site 1 outer 4 whole 16 inner 1 ins(
  %1 = dist.all_gather %x dim 1 over "tp" : tensor<4x4xf32> -> tensor<4x16xf32>
  // CHECK: rt.reduce_scatter comm 0 site 2 <max> outer 1 whole 4 inner 4 ins(
  %2 = dist.reduce_scatter %x max dim 0 over "tp" : tensor<4x4xf32> -> tensor<1x4xf32>
  // CHECK: rt.all_to_all comm 0 site 3 split_first outer 2 split_whole 4 middle 1 concat_whole 12 inner 1 ins(
  %3 = dist.all_to_all %y split 1 concat 2 over "tp" : tensor<2x4x3xf32> -> tensor<2x1x12xf32>
  // CHECK: rt.broadcast comm 1 site 4 root 1 ins(
  %4 = dist.broadcast %y root 1 over "dp" : tensor<2x4x3xf32>
  // CHECK: rt.halo_exchange comm 0 site 5 outer 2 whole 16 inner 3 low 1 high 2 ins(
  %5 = dist.halo_exchange %y dim 1 low 1 high 2 over "tp" : tensor<2x4x3xf32> -> tensor<2x7x3xf32>
  // CHECK: rt.collective_permute comm 0 site 6 pairs [0, 1, 1, 2, 2, 3] ins(
  %6 = dist.send_recv %x shift 1 over "tp" : tensor<4x4xf32>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<4x4xf32>, tensor<4x16xf32>, tensor<1x4xf32>, tensor<2x1x12xf32>, tensor<2x4x3xf32>, tensor<2x7x3xf32>, tensor<4x4xf32>
}

// The size of the dimension, what lies past its ends, and the adjoint.
// CHECK-LABEL: func.func @halos
func.func @halos(%x: tensor<2x4xf32>, %b: tensor<4xi1>) -> (tensor<2x4xf32>, tensor<5xi1>) {
  // CHECK: rt.halo_exchange comm 0 site 7 outer 2 whole 14 inner 1 low 1 high 2 boundary <constant> fill 3212836864 ins(
  %0 = dist.halo_exchange %x dim 1 of 14 low 1 high 2 boundary constant -1.0 : f32 over "tp" : tensor<2x4xf32> -> tensor<2x7xf32>
  // CHECK: rt.halo_reduce comm 0 site 8 outer 2 whole 14 inner 1 low 1 high 2 periodic ins(
  %1 = dist.halo_reduce %0 dim 1 of 14 low 1 high 2 periodic over "tp" : tensor<2x7xf32> -> tensor<2x4xf32>
  // CHECK: rt.halo_exchange comm 0 site 9 outer 1 whole 16 inner 1 low 0 high 1 boundary <constant> fill 1 ins(
  %2 = dist.halo_exchange %b dim 0 low 0 high 1 boundary constant true over "tp" : tensor<4xi1> -> tensor<5xi1>
  return %1, %2 : tensor<2x4xf32>, tensor<5xi1>
}

// A line whose last device is before the first one.
// CHECK-LABEL: func.func @ring
func.func @ring(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK: rt.collective_permute comm 0 site 10 pairs [0, 1, 1, 2, 2, 3, 3, 0] ins(
  %0 = dist.send_recv %x shift 1 periodic over "tp" : tensor<4x4xf32>
  // CHECK: rt.collective_permute comm 0 site 11 pairs [0, 2, 1, 3, 2, 0, 3, 1] ins(
  %1 = dist.send_recv %0 shift -2 periodic over "tp" : tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

// Of no elements no offset is within bounds.
// CHECK-LABEL: func.func @empty
// CHECK-NOT: tensor.extract_slice
// CHECK: tensor.empty() : tensor<0x1xf32>
func.func @empty(%x: tensor<0x4xf32>) -> tensor<0x1xf32> {
  %0 = dist.all_slice %x dim 1 over "tp" : tensor<0x4xf32> -> tensor<0x1xf32>
  return %0 : tensor<0x1xf32>
}

// CHECK-LABEL: func.func @rows
// One plan for both, where the indices are; another of as many rows; i32 as i64.
// CHECK-SAME:  %[[X:.*]]: tensor<3x4xf32>, %[[I:.*]]: tensor<5xindex>, %[[J:.*]]: tensor<6xi32>
func.func @rows(%x: tensor<3x4xf32>, %i: tensor<5xindex>, %j: tensor<6xi32>) -> (tensor<3x4xf32>, tensor<6x3xf32>) {
  // CHECK: %[[WIDE:.*]] = arith.extsi %[[J]] : tensor<6xi32> to tensor<6xi64>
  // CHECK: %[[OTHER:.*]] = rt.plan_rows comm 0 site 14 whole 16 indices(%[[WIDE]] : tensor<6xi64>)
  // CHECK: %[[PLAN:.*]] = rt.plan_rows comm 0 site 12 whole 15 indices(%[[I]] : tensor<5xindex>)
  // CHECK: %[[EXP:.*]] = math.exp
  %0 = math.exp %x : tensor<3x4xf32>
  // CHECK: rt.gather_rows comm 0 site 12 plan %[[PLAN]] outer 3 whole 15 inner 1 ins(%[[EXP]] : tensor<3x4xf32>) outs(%{{.*}} : tensor<5x3xf32>) -> tensor<5x3xf32>
  %1 = dist.gather_rows %0[%i] dim 1 of 15 over "tp" : tensor<3x4xf32>[tensor<5xindex>] -> tensor<5x3xf32>
  // CHECK: rt.reduce_rows comm 0 site 13 plan %[[PLAN]] outer 3 whole 15 inner 1 ins(
  %2 = dist.reduce_rows %1[%i] dim 1 of 15 over "tp" : tensor<5x3xf32>[tensor<5xindex>] -> tensor<3x4xf32>
  // CHECK: rt.gather_rows comm 0 site 14 plan %[[OTHER]]
  %3 = dist.gather_rows %x[%j] dim 1 over "tp" : tensor<3x4xf32>[tensor<6xi32>] -> tensor<6x3xf32>
  return %2, %3 : tensor<3x4xf32>, tensor<6x3xf32>
}

// End for end.
// CHECK-LABEL: func.func @reversed
func.func @reversed(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK: rt.collective_permute comm 0 site {{[0-9]+}} pairs [3, 0, 2, 1, 1, 2, 0, 3] ins(
  %0 = dist.collective_permute %x from "tp" to "tp" reversed : tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
