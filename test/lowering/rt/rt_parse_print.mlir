// Every op of the rt dialect, as it is written.
// RUN: dist-opt %s | dist-opt | FileCheck %s
// RUN: dist-opt %s --mlir-print-op-generic | dist-opt | FileCheck %s

// CHECK-LABEL: func.func @on_buffers
func.func @on_buffers(%a: memref<2x4x64xf32>, %b: memref<2x16x64xf32>, %c: memref<2x2x128xf32>,
                      %d: memref<2x6x64xf32>, %e: memref<2x4x64xf32>,
                      %i: memref<3xi64>, %r: memref<3x2x64xf32>) {
  // CHECK: rt.all_reduce comm 0 site 1 <sum> ins(%{{.*}} : memref<2x4x64xf32>) outs(%{{.*}} : memref<2x4x64xf32>)
  rt.all_reduce comm 0 site 1 <sum> ins(%a : memref<2x4x64xf32>) outs(%a : memref<2x4x64xf32>)
  // CHECK: rt.all_gather comm 0 site 2 stream 1 outer 2 whole 16 inner 64 ins(
  rt.all_gather comm 0 site 2 stream 1 outer 2 whole 16 inner 64
      ins(%a : memref<2x4x64xf32>) outs(%b : memref<2x16x64xf32>)
  // CHECK: rt.reduce_scatter comm 0 site 3 <max> outer 2 whole 16 inner 64 ins(
  rt.reduce_scatter comm 0 site 3 <max> outer 2 whole 16 inner 64
      ins(%b : memref<2x16x64xf32>) outs(%a : memref<2x4x64xf32>)
  // CHECK: rt.all_to_all comm 0 site 4 split_first outer 2 split_whole 4 middle 1 concat_whole 128 inner 1 ins(
  rt.all_to_all comm 0 site 4 split_first outer 2 split_whole 4 middle 1 concat_whole 128 inner 1
      ins(%a : memref<2x4x64xf32>) outs(%c : memref<2x2x128xf32>)
  // CHECK: rt.all_to_all comm 0 site 5 outer 2 split_whole 128 middle 1 concat_whole 4 inner 1 ins(
  rt.all_to_all comm 0 site 5 outer 2 split_whole 128 middle 1 concat_whole 4 inner 1
      ins(%c : memref<2x2x128xf32>) outs(%a : memref<2x4x64xf32>)
  // CHECK: rt.broadcast comm 0 site 6 root 1 ins(
  rt.broadcast comm 0 site 6 root 1 ins(%a : memref<2x4x64xf32>) outs(%e : memref<2x4x64xf32>)
  // CHECK: rt.collective_permute comm 0 site 7 pairs [0, 1, 1, 0] ins(
  rt.collective_permute comm 0 site 7 pairs [0, 1, 1, 0] ins(%a : memref<2x4x64xf32>) outs(%e : memref<2x4x64xf32>)
  // CHECK: rt.halo_exchange comm 0 site 8 outer 2 whole 16 inner 64 low 1 high 1 ins(
  rt.halo_exchange comm 0 site 8 outer 2 whole 16 inner 64 low 1 high 1
      ins(%a : memref<2x4x64xf32>) outs(%d : memref<2x6x64xf32>)
  // CHECK: rt.halo_exchange comm 0 site 8 outer 2 whole 15 inner 64 low 1 high 1 boundary <constant> fill 1065353216 ins(
  rt.halo_exchange comm 0 site 8 outer 2 whole 15 inner 64 low 1 high 1 boundary <constant> fill 1065353216
      ins(%a : memref<2x4x64xf32>) outs(%d : memref<2x6x64xf32>)
  // CHECK: %[[PLAN:.*]] = rt.plan_rows comm 0 site 9 whole 15 indices(%{{.*}} : memref<3xi64>)
  %plan = rt.plan_rows comm 0 site 9 whole 15 indices(%i : memref<3xi64>)
  // CHECK: rt.gather_rows comm 0 site 9 plan %[[PLAN]] outer 2 whole 15 inner 64 ins(
  rt.gather_rows comm 0 site 9 plan %plan outer 2 whole 15 inner 64 ins(%a : memref<2x4x64xf32>) outs(%r : memref<3x2x64xf32>)
  // CHECK: rt.reduce_rows comm 0 site 9 plan %[[PLAN]] outer 2 whole 15 inner 64 ins(
  rt.reduce_rows comm 0 site 9 plan %plan outer 2 whole 15 inner 64 ins(%r : memref<3x2x64xf32>) outs(%a : memref<2x4x64xf32>)
  // CHECK: rt.halo_reduce comm 0 site 9 outer 2 whole 15 inner 64 low 1 high 1 periodic ins(
  rt.halo_reduce comm 0 site 9 outer 2 whole 15 inner 64 low 1 high 1 periodic
      ins(%d : memref<2x6x64xf32>) outs(%a : memref<2x4x64xf32>)
  return
}

// Before bufferization a collective has a result, which is its destination's new value.
// CHECK-LABEL: func.func @on_tensors
func.func @on_tensors(%a: tensor<4xf32>) -> tensor<16xf32> {
  %d = tensor.empty() : tensor<16xf32>
  // CHECK: rt.all_gather comm 0 site 0 outer 1 whole 16 inner 1 ins(%{{.*}} : tensor<4xf32>) outs(%{{.*}} : tensor<16xf32>) -> tensor<16xf32>
  %0 = rt.all_gather comm 0 site 0 outer 1 whole 16 inner 1 ins(%a : tensor<4xf32>) outs(%d : tensor<16xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}

// CHECK-LABEL: func.func @streams
func.func @streams() {
  // CHECK: %[[READY:.*]] = rt.event_record stream 0
  %ready = rt.event_record stream 0
  // CHECK: rt.stream_wait %[[READY]] stream 1
  rt.stream_wait %ready stream 1
  return
}

// CHECK-LABEL: func.func @compute
func.func @compute(%a: memref<4x8xf32>, %b: memref<8x2xf32>, %c: memref<4x2xf32>) -> index {
  // CHECK: rt.contract ins({{.*}}) outs({{.*}}) loops [#rt.loop<m 4 a 8 b 0 c 2>, #rt.loop<n 2 a 0 b 1 c 1>, #rt.loop<k 8 a 1 b 2 c 0>] accumulate
  rt.contract ins(%a, %b : memref<4x8xf32>, memref<8x2xf32>) outs(%c : memref<4x2xf32>)
      loops [#rt.loop<m 4 a 8 b 0 c 2>, #rt.loop<n 2 a 0 b 1 c 1>, #rt.loop<k 8 a 1 b 2 c 0>] accumulate
  %x = memref.alloc() : memref<1x3x8xf32>
  %w = memref.alloc() : memref<4x3x3xf32>
  %bias = memref.alloc() : memref<4xf32>
  %y = memref.alloc() : memref<1x4x8xf32>
  // CHECK: rt.convolve ins({{.*}} : memref<1x3x8xf32>, memref<4x3x3xf32>) bias({{.*}} : memref<4xf32>) outs({{.*}} : memref<1x4x8xf32>) batch [0, 0] group [] channel [1, 1] feature [0, 1] windows [#rt.window<image 2 kernel 2 out 2 stride 1 dilation 1 low 1>] accumulate constant clamp [0.000000e+00, 0x7F800000]
  rt.convolve ins(%x, %w : memref<1x3x8xf32>, memref<4x3x3xf32>) bias(%bias : memref<4xf32>) outs(%y : memref<1x4x8xf32>)
      batch [0, 0] group [] channel [1, 1] feature [0, 1]
      windows [#rt.window<image 2 kernel 2 out 2 stride 1 dilation 1 low 1>] accumulate constant clamp [0.0, 0x7F800000]
  %keys = memref.alloc() : memref<4xi64>
  // CHECK: rt.scatter ins({{.*}} : memref<4x8xf32>, memref<4xi64>) outs({{.*}} : memref<1x3x8xf32>) dims [0, 1] batch 1 add
  rt.scatter ins(%a, %keys : memref<4x8xf32>, memref<4xi64>) outs(%x : memref<1x3x8xf32>) dims [0, 1] batch 1 add
  // CHECK: %[[STATUS:.*]] = rt.status : !llvm.ptr
  %status = rt.status : !llvm.ptr
  // CHECK: rt.fail %[[STATUS]], "the sky is up" : !llvm.ptr
  rt.fail %status, "the sky is up" : !llvm.ptr
  // CHECK: rt.check
  rt.check
  // CHECK: %[[INDEX:.*]] = rt.comm_index 3
  %i = rt.comm_index 3
  // CHECK: rt.fail %[[STATUS]], "the index is in [0, 5)" value %[[INDEX]] : !llvm.ptr
  rt.fail %status, "the index is in [0, 5)" value %i : !llvm.ptr
  return %i : index
}
