// Megatron's sequence parallelism at level 3: row linear, reduce_scatter along
// the sequence, residual, all_gather, column linear. Batch first, a naive
// lowering transposes around both collectives, four times; here there is none
// left, since the two products and the residual read and write any order.
// Sequence first there is nothing to do.
// RUN: dist-opt %s --dist-verify-spmd --dist-fuse-transposes --cse --dist-verify-spmd | FileCheck %s
// RUN: dist-report %s --json | FileCheck %s --check-prefix=BEFORE
// RUN: dist-opt %s --dist-fuse-transposes --cse | dist-report --json - | FileCheck %s --check-prefix=AFTER
// RUN: dist-report %s --fuse-transposes --json | FileCheck %s --check-prefix=AFTER
// RUN: dist-report %s | FileCheck %s --check-prefix=TABLE

// The reduce_scatter takes 2 * 8 * 6 floats apart, the all_gather puts as many
// together: 384 bytes each.
// BEFORE: "op":"reduce_scatter",{{.*}}"packed_bytes_per_rank":384,{{.*}}"op":"all_gather",{{.*}}"packed_bytes_per_rank":384,
// BEFORE-SAME: "totals":{"reduce_scatter":{"count":1,"bytes_sent_per_rank":192,"packed_bytes_per_rank":384},"all_gather":{"count":1,"bytes_sent_per_rank":192,"packed_bytes_per_rank":384}},"packed_bytes_per_rank":768,
// BEFORE-SAME: {"name":"sequence_first",{{.*}}},"packed_bytes_per_rank":0,
// AFTER: "totals":{"reduce_scatter":{"count":1,"bytes_sent_per_rank":192,"packed_bytes_per_rank":0},"all_gather":{"count":1,"bytes_sent_per_rank":192,"packed_bytes_per_rank":0}},"packed_bytes_per_rank":0,
// AFTER-SAME: {"name":"sequence_first",{{.*}}},"packed_bytes_per_rank":0,

// TABLE-LABEL: @main
// TABLE-NEXT: collective axes local tensor sent packed times module cause
// TABLE-NEXT: reduce_scatter sum tp 2x8x6xf32 192 B 384 B 1 
// TABLE-NEXT: all_gather tp 2x4x6xf32 192 B 384 B 1 
// TABLE: in all times sent by a rank packed by a rank
// TABLE-NEXT: reduce_scatter 1 192 B 384 B
// TABLE-NEXT: all_gather 1 192 B 384 B
// TABLE-NEXT: sum 2 384 B 768 B
// TABLE-LABEL: @sequence_first
// TABLE-NEXT: collective axes local tensor sent times module cause

dist.mesh @m ["tp" = 2]

// CHECK-DAG: #[[$BSK:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
// CHECK-DAG: #[[$KN:.*]] = affine_map<(d0, d1, d2, d3) -> (d3, d2)>
// CHECK-DAG: #[[$BSN:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
// CHECK-DAG: #[[$SBN:.*]] = affine_map<(d0, d1, d2, d3) -> (d1, d0, d2)>
// CHECK-DAG: #[[$SBK:.*]] = affine_map<(d0, d1, d2, d3) -> (d1, d0, d3)>
// CHECK-DAG: #[[$BSH:.*]] = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK-DAG: #[[$SBH:.*]] = affine_map<(d0, d1, d2) -> (d1, d0, d2)>
#bsk = affine_map<(b, s, n, k) -> (b, s, k)>
#kn = affine_map<(b, s, n, k) -> (k, n)>
#bsn = affine_map<(b, s, n, k) -> (b, s, n)>
#same = affine_map<(b, s, h) -> (b, s, h)>

// CHECK-LABEL: func @main
// CHECK-NOT: linalg.transpose
// CHECK: %[[ROW:.*]] = linalg.contract indexing_maps = [#[[$BSK]], #[[$KN]], #[[$SBN]]]
// CHECK-SAME: -> tensor<8x2x6xf32>
// CHECK: %[[PART:.*]] = dist.reduce_scatter %[[ROW]] sum dim 0 over "tp" : tensor<8x2x6xf32> -> tensor<4x2x6xf32>
// CHECK: %[[SUM:.*]] = linalg.generic {indexing_maps = [#[[$SBH]], #[[$BSH]], #[[$SBH]]]
// CHECK-SAME: ins(%[[PART]], %{{.*}} : tensor<4x2x6xf32>, tensor<2x4x6xf32>) outs(%{{.*}} : tensor<4x2x6xf32>)
// CHECK: %[[ALL:.*]] = dist.all_gather %[[SUM]] dim 0 over "tp" : tensor<4x2x6xf32> -> tensor<8x2x6xf32>
// CHECK: linalg.contract indexing_maps = [#[[$SBK]], #[[$KN]], #[[$BSN]]]
// CHECK-SAME: -> tensor<2x8x5xf32>
// CHECK-NOT: linalg.transpose
func.func @main(%x: tensor<2x8x3xf32>, %w: tensor<3x6xf32>, %v: tensor<6x5xf32>, %residual: tensor<2x4x6xf32>) -> tensor<2x8x5xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<2x8x6xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<2x8x6xf32>) -> tensor<2x8x6xf32>
  %row = linalg.contract indexing_maps = [#bsk, #kn, #bsn] ins(%x, %w : tensor<2x8x3xf32>, tensor<3x6xf32>) outs(%f0 : tensor<2x8x6xf32>) -> tensor<2x8x6xf32>
  %part = dist.reduce_scatter %row sum dim 1 over "tp" : tensor<2x8x6xf32> -> tensor<2x4x6xf32>
  %e1 = tensor.empty() : tensor<2x4x6xf32>
  %sum = linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%part, %residual : tensor<2x4x6xf32>, tensor<2x4x6xf32>) outs(%e1 : tensor<2x4x6xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<2x4x6xf32>
  %all = dist.all_gather %sum dim 1 over "tp" : tensor<2x4x6xf32> -> tensor<2x8x6xf32>
  %e2 = tensor.empty() : tensor<2x8x5xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<2x8x5xf32>) -> tensor<2x8x5xf32>
  %column = linalg.contract indexing_maps = [#bsk, #kn, #bsn] ins(%all, %v : tensor<2x8x6xf32>, tensor<6x5xf32>) outs(%f2 : tensor<2x8x5xf32>) -> tensor<2x8x5xf32>
  return %column : tensor<2x8x5xf32>
}

// CHECK-LABEL: func private @sequence_first
// CHECK: %[[ROW:.*]] = linalg.contract indexing_maps = [#[[$BSK]], #[[$KN]], #[[$BSN]]]
// CHECK: dist.reduce_scatter %[[ROW]] sum dim 0
// CHECK: dist.all_gather %{{.*}} dim 0
// CHECK-NOT: linalg.transpose
// CHECK: return
func.func private @sequence_first(%x: tensor<8x2x3xf32>, %w: tensor<3x6xf32>, %v: tensor<6x5xf32>, %residual: tensor<4x2x6xf32>) -> tensor<8x2x5xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<8x2x6xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<8x2x6xf32>) -> tensor<8x2x6xf32>
  %row = linalg.contract indexing_maps = [#bsk, #kn, #bsn] ins(%x, %w : tensor<8x2x3xf32>, tensor<3x6xf32>) outs(%f0 : tensor<8x2x6xf32>) -> tensor<8x2x6xf32>
  %part = dist.reduce_scatter %row sum dim 0 over "tp" : tensor<8x2x6xf32> -> tensor<4x2x6xf32>
  %e1 = tensor.empty() : tensor<4x2x6xf32>
  %sum = linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%part, %residual : tensor<4x2x6xf32>, tensor<4x2x6xf32>) outs(%e1 : tensor<4x2x6xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<4x2x6xf32>
  %all = dist.all_gather %sum dim 0 over "tp" : tensor<4x2x6xf32> -> tensor<8x2x6xf32>
  %e2 = tensor.empty() : tensor<8x2x5xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<8x2x5xf32>) -> tensor<8x2x5xf32>
  %column = linalg.contract indexing_maps = [#bsk, #kn, #bsn] ins(%all, %v : tensor<8x2x6xf32>, tensor<6x5xf32>) outs(%f2 : tensor<8x2x5xf32>) -> tensor<8x2x5xf32>
  return %column : tensor<8x2x5xf32>
}
