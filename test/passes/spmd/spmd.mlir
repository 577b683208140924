// RUN: dist-opt %s --split-input-file --dist-spmd | FileCheck %s
// RUN: dist-opt %s --split-input-file --dist-propagate --dist-insert-reshards --dist-improve-reshards | FileCheck %s --check-prefix=RESHARDS

#x = affine_map<(b, s, n, k) -> (b, s, k)>
#w = affine_map<(b, s, n, k) -> (k, n)>
#y = affine_map<(b, s, n, k) -> (b, s, n)>
dist.mesh @m ["tp" = 4]

// The sequence-sharded result of a row-parallel matmul is one reduce_scatter.
// CHECK-LABEL: @reduce_scatter
// CHECK: %[[Y:.*]] = linalg.contract {{.*}} outs({{.*}} : tensor<8x16x24xf32>)
// CHECK-NEXT: %[[R:.*]] = dist.reduce_scatter %[[Y]] sum dim 1 over "tp" on @m cause "{{.*}}" : tensor<8x16x24xf32> -> tensor<8x4x24xf32>
// CHECK-NEXT: return %[[R]]
func.func @reduce_scatter(
    %x: tensor<8x16x32xf32> {dist.sharding = #dist.sharding<@m, [{}, {}, {"tp"}]>},
    %w: tensor<32x24xf32> {dist.sharding = #dist.sharding<@m, [{"tp"}, {}]>}) -> tensor<8x16x24xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x16x24xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<8x16x24xf32>) -> tensor<8x16x24xf32>
  %y = linalg.contract indexing_maps = [#x, #w, #y]
     ins(%x, %w : tensor<8x16x32xf32>, tensor<32x24xf32>) outs(%f : tensor<8x16x24xf32>) -> tensor<8x16x24xf32>
  %c = dist.sharding_constraint %y <@m, [{}, {"tp"}, {}]> : tensor<8x16x24xf32>
  return %c : tensor<8x16x24xf32>
}

// One axis on two loops of a matmul: the smaller operand is gathered.
// CHECK-LABEL: @axis_on_two_dims
// CHECK: %[[G:.*]] = dist.all_gather %arg0 dim 0 over "tp"
// CHECK: linalg.matmul ins(%[[G]], %arg1 : tensor<16x32xf32>, tensor<32x6xf32>)
// CHECK-NOT: dist.all
func.func @axis_on_two_dims(
    %x: tensor<16x32xf32> {dist.sharding = #dist.sharding<@m, [{"tp"}, {}]>},
    %w: tensor<32x24xf32> {dist.sharding = #dist.sharding<@m, [{}, {"tp"}]>}) -> tensor<16x24xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x24xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<16x24xf32>) -> tensor<16x24xf32>
  %y = linalg.matmul ins(%x, %w : tensor<16x32xf32>, tensor<32x24xf32>) outs(%f : tensor<16x24xf32>) -> tensor<16x24xf32>
  return %y : tensor<16x24xf32>
}

// Pending sums that are added are reduced once.
// CHECK-LABEL: @sum_of_pending
// CHECK-COUNT-2: linalg.matmul
// CHECK: arith.addf
// CHECK: dist.all_reduce
// CHECK-NOT: dist.all_reduce
func.func @sum_of_pending(
    %x: tensor<16x32xf32> {dist.sharding = #dist.sharding<@m, [{}, {"tp"}]>},
    %w: tensor<32x24xf32>, %v: tensor<32x24xf32>) -> tensor<16x24xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x24xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<16x24xf32>) -> tensor<16x24xf32>
  %y = linalg.matmul ins(%x, %w : tensor<16x32xf32>, tensor<32x24xf32>) outs(%f : tensor<16x24xf32>) -> tensor<16x24xf32>
  %u = linalg.matmul ins(%x, %v : tensor<16x32xf32>, tensor<32x24xf32>) outs(%f : tensor<16x24xf32>) -> tensor<16x24xf32>
  %s = arith.addf %y, %u : tensor<16x24xf32>
  return %s : tensor<16x24xf32>
}

// -----

dist.mesh @m ["x" = 2, "y" = 2]

// [[x],[y]] to [[y],[x]]: one permutation of devices.
// CHECK-LABEL: @swap
// CHECK: %[[P:.*]] = dist.collective_permute %arg0 from "x", "y" to "y", "x"
// CHECK-NEXT: return %[[P]]
func.func @swap(%a: tensor<8x8xf32> {dist.sharding = #dist.sharding<@m, [{"x"}, {"y"}]>})
    -> (tensor<8x8xf32> {dist.sharding = #dist.sharding<@m, [{"y"}, {"x"}]>}) {
  return %a : tensor<8x8xf32>
}

// A moved axis is an all_to_all.
// CHECK-LABEL: @move
// CHECK: %[[P:.*]] = dist.all_to_all %arg0 split 1 concat 0 over "x"
// CHECK-NEXT: return %[[P]]
func.func @move(%a: tensor<8x8xf32> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>})
    -> (tensor<8x8xf32> {dist.sharding = #dist.sharding<@m, [{}, {"x"}]>}) {
  return %a : tensor<8x8xf32>
}

// -----

dist.mesh @m ["x" = 4]

// 10 rows on 4 devices: padded blocks of 3, cut to size after the gather.
// CHECK-LABEL: @uneven
// CHECK-SAME: %arg0: tensor<3x4xf32>
// CHECK: %[[G:.*]] = dist.all_gather %arg0 dim 0 over "x" {{.*}} : tensor<3x4xf32> -> tensor<12x4xf32>
// CHECK: tensor.extract_slice %[[G]][0, 0] [10, 4] [1, 1]
func.func @uneven(%a: tensor<10x4xf32> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>})
    -> (tensor<10x4xf32> {dist.sharding = #dist.sharding<@m, [{}, {}]>}) {
  return %a : tensor<10x4xf32>
}

// Fused q|k|v: a slice of an interleaved dimension stays where it is.
// CHECK-LABEL: @interleaved
// CHECK: tensor.extract_slice %arg0[0, 4] [8, 4] [1, 1] : tensor<8x12xf32> to tensor<8x4xf32>
// CHECK-NOT: dist.all
func.func @interleaved(%a: tensor<8x48xf32> {dist.sharding = #dist.sharding<@m, [{}, {"x"} groups 3]>})
    -> tensor<8x16xf32> {
  %0 = tensor.extract_slice %a[0, 16] [8, 16] [1, 1] : tensor<8x48xf32> to tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// Heads split over devices: a part of the axis goes to each factor.
// CHECK-LABEL: @sub_axes
// CHECK: tensor.expand_shape %arg0 {{.*}} output_shape [8, 1, 1, 8] : tensor<8x8xf32> into tensor<8x1x1x8xf32>
func.func @sub_axes(%a: tensor<8x32xf32> {dist.sharding = #dist.sharding<@m, [{}, {"x"}]>})
    -> tensor<8x2x2x8xf32> {
  %0 = tensor.expand_shape %a [[0], [1, 2, 3]] output_shape [8, 2, 2, 8] : tensor<8x32xf32> into tensor<8x2x2x8xf32>
  return %0 : tensor<8x2x2x8xf32>
}

// A gathered and then sliced sequence: neither is done.
// CHECK-LABEL: @gathered_then_sliced
// CHECK-NEXT: %[[N:.*]] = arith.negf %arg0 : tensor<2x4xf32>
// CHECK-NEXT: return %[[N]]
func.func @gathered_then_sliced(%a: tensor<8x4xf32> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>}) -> tensor<8x4xf32> {
  %0 = dist.sharding_constraint %a <@m, [{}, {}]> : tensor<8x4xf32>
  %1 = dist.sharding_constraint %0 <@m, [{"x"}, {}]> : tensor<8x4xf32>
  %2 = arith.negf %1 : tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}

// What one user gathers, another takes a slice of; what is scattered for one is
// gathered, not reduced again, for the other.
// CHECK-LABEL: @nearest_copy
// CHECK: dist.reduce_scatter
// CHECK-NOT: dist.all_reduce
// CHECK: dist.all_gather
// CHECK-NOT: dist.all_reduce
func.func @nearest_copy(%x: tensor<8x16xf32> {dist.sharding = #dist.sharding<@m, [{}, {"x"}]>},
                        %w: tensor<16x8xf32> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>})
    -> (tensor<8x8xf32> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>}, tensor<8x8xf32> {dist.sharding = #dist.sharding<@m, [{}, {}]>}) {
  %z = arith.constant dense<0.0> : tensor<8x8xf32>
  %y = linalg.matmul ins(%x, %w : tensor<8x16xf32>, tensor<16x8xf32>) outs(%z : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %y, %y : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

dist.mesh @m ["tp" = 1]

// On one device a sync asks for nothing, and all programs are what they were.
// CHECK-LABEL: @one_device
// CHECK-NEXT: %[[N:.*]] = arith.negf %arg0 : tensor<8x16xf32>
// CHECK-NEXT: return %[[N]]
func.func @one_device(%x: tensor<8x16xf32> {dist.sharding = #dist.sharding<@m, [{"tp"}, {}]>}) -> tensor<8x16xf32> {
  %0 = arith.negf %x : tensor<8x16xf32>
  %1 = dist.sync %0 fwd_post all_reduce over "tp" : tensor<8x16xf32>
  %2 = dist.sync %1 fwd_post reduce_scatter dim 1 over "tp" : tensor<8x16xf32>
  %3 = dist.sync %2 fwd_post all_gather dim 1 over "tp" : tensor<8x16xf32>
  return %3 : tensor<8x16xf32>
}

// -----

dist.mesh @m ["x" = 4]

// A maximum's operands are placed as it needs them: nothing is resharded before it.
// RESHARDS-LABEL: @max
// RESHARDS-NOT: dist.reshard
// RESHARDS: linalg.reduce
// RESHARDS: dist.reshard {{.*}} cause "completes
func.func @max(%a: tensor<8x4xf32> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>}) -> tensor<4xf32> {
  %m = arith.constant dense<0xFF800000> : tensor<4xf32>
  %0 = linalg.reduce { arith.maximumf } ins(%a : tensor<8x4xf32>) outs(%m : tensor<4xf32>) dimensions = [0]
  return %0 : tensor<4xf32>
}
