// Each op is one call of the C function of its name, with the parameters in the order of runtime.h.
// RUN: dist-opt %s --dist-cpu-convert-to-llvm | FileCheck %s

// CHECK: module attributes {
// CHECK-SAME: rt.checks = [{message = "the sky is up", value = false}, {message = "the index is in [0, 5)", value = true}]
// CHECK-LABEL: llvm.func @dist_main
func.func @main(%rank: !llvm.ptr, %a: memref<2x4x64xf32>, %b: memref<2x16x64xbf16>, %c: memref<2x4x64xbf16>, %i: memref<3xindex>, %r: memref<3x2x64xf32>, %arena: memref<0xi8>, %status: !llvm.ptr) {
  // CHECK-DAG: %[[FLAGS:.*]] = llvm.mlir.constant(7 : i32) : i32
  // CHECK-DAG: %[[HIGH:.*]] = llvm.mlir.constant(6.000000e+00 : f32) : f32
  // Rank, communicator, stream, site, dtype, reduction, count, pointers.
  // CHECK: llvm.call @dist_all_reduce(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) : (!llvm.ptr, i32, i32, i32, i32, i32, i64, !llvm.ptr, !llvm.ptr) -> i32
  rt.all_reduce comm 2 site 7 stream 1 <min> ins(%a : memref<2x4x64xf32>) outs(%a : memref<2x4x64xf32>)
  // CHECK: llvm.call @dist_all_gather({{.*}}) : (!llvm.ptr, i32, i32, i32, i32, i64, i64, i64, !llvm.ptr, !llvm.ptr) -> i32
  rt.all_gather comm 0 site 2 outer 2 whole 16 inner 64 ins(%c : memref<2x4x64xbf16>) outs(%b : memref<2x16x64xbf16>)
  // CHECK: llvm.call @dist_reduce_scatter({{.*}}) : (!llvm.ptr, i32, i32, i32, i32, i32, i64, i64, i64, !llvm.ptr, !llvm.ptr) -> i32
  rt.reduce_scatter comm 0 site 3 <sum> outer 2 whole 16 inner 64 ins(%b : memref<2x16x64xbf16>) outs(%c : memref<2x4x64xbf16>)
  // CHECK: llvm.call @dist_all_to_all({{.*}}) : (!llvm.ptr, i32, i32, i32, i32, i32, i64, i64, i64, i64, i64, !llvm.ptr, !llvm.ptr) -> i32
  rt.all_to_all comm 0 site 4 split_first outer 2 split_whole 4 middle 1 concat_whole 64 inner 1 ins(%a : memref<2x4x64xf32>) outs(%a : memref<2x4x64xf32>)
  // CHECK: llvm.call @dist_broadcast({{.*}}) : (!llvm.ptr, i32, i32, i32, i32, i64, i64, !llvm.ptr, !llvm.ptr) -> i32
  rt.broadcast comm 0 site 6 root 1 ins(%a : memref<2x4x64xf32>) outs(%a : memref<2x4x64xf32>)
  // CHECK: llvm.call @dist_collective_permute({{.*}}) : (!llvm.ptr, i32, i32, i32, i32, i64, !llvm.ptr, i64, !llvm.ptr, !llvm.ptr) -> i32
  rt.collective_permute comm 0 site 7 pairs [0, 1] ins(%a : memref<2x4x64xf32>) outs(%a : memref<2x4x64xf32>)
  // CHECK: llvm.call @dist_halo_exchange({{.*}}) : (!llvm.ptr, i32, i32, i32, i32, i64, i64, i64, i64, i64, i32, i64, !llvm.ptr, !llvm.ptr) -> i32
  rt.halo_exchange comm 0 site 8 outer 2 whole 16 inner 64 low 0 high 0 ins(%a : memref<2x4x64xf32>) outs(%a : memref<2x4x64xf32>)
  // CHECK: llvm.call @dist_plan_rows({{.*}}) : (!llvm.ptr, i32, i32, i32, i64, i64, !llvm.ptr) -> i32
  %p = rt.plan_rows comm 0 site 8 whole 16 indices(%i : memref<3xindex>)
  // CHECK: llvm.call @dist_gather_rows({{.*}}) : (!llvm.ptr, i32, i32, i32, i32, i32, i64, i64, i64, !llvm.ptr, !llvm.ptr) -> i32
  rt.gather_rows comm 0 site 8 plan %p outer 2 whole 16 inner 64 ins(%a : memref<2x4x64xf32>) outs(%r : memref<3x2x64xf32>)
  // CHECK: llvm.call @dist_reduce_rows({{.*}}) : (!llvm.ptr, i32, i32, i32, i32, i32, i64, i64, i64, !llvm.ptr, !llvm.ptr) -> i32
  rt.reduce_rows comm 0 site 8 plan %p outer 2 whole 16 inner 64 ins(%r : memref<3x2x64xf32>) outs(%a : memref<2x4x64xf32>)
  // CHECK: llvm.call @dist_halo_reduce({{.*}}) : (!llvm.ptr, i32, i32, i32, i32, i64, i64, i64, i64, i64, i32, !llvm.ptr, !llvm.ptr) -> i32
  rt.halo_reduce comm 0 site 8 outer 2 whole 16 inner 64 low 0 high 0 periodic ins(%a : memref<2x4x64xf32>) outs(%a : memref<2x4x64xf32>)
  // An event has a number of its own.
  // CHECK: llvm.call @dist_event_record(%{{.*}}, %[[FIRST:.*]], %{{.*}}) : (!llvm.ptr, i32, i32) -> i32
  %e = rt.event_record stream 1
  // CHECK: llvm.call @dist_event_record(%{{.*}}, %[[SECOND:.*]], %{{.*}}) : (!llvm.ptr, i32, i32) -> i32
  %f = rt.event_record stream 2
  // CHECK: llvm.call @dist_stream_wait(%{{.*}}, %{{.*}}, %[[SECOND]]) : (!llvm.ptr, i32, i32) -> i32
  rt.stream_wait %f stream 0
  // CHECK: llvm.call @dist_stream_wait(%{{.*}}, %{{.*}}, %[[FIRST]]) : (!llvm.ptr, i32, i32) -> i32
  rt.stream_wait %e stream 0
  // CHECK: llvm.call @dist_contract({{.*}}) : (!llvm.ptr, i32, i32, i32, i32, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
  rt.contract ins(%c, %c : memref<2x4x64xbf16>, memref<2x4x64xbf16>) outs(%a : memref<2x4x64xf32>) loops [#rt.loop<m 2 a 1 b 0 c 1>]
  // A table of the dimensions, no bias, and bounds: adding, constant and bounded are 1, 2 and 4.
  // CHECK: llvm.call @dist_convolve(%{{.*}}, %{{.*}}, %[[FLAGS]], {{.*}}, %[[HIGH]]) : (!llvm.ptr, i32, i32, i32, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, f32, f32) -> i32
  rt.convolve ins(%a, %a : memref<2x4x64xf32>, memref<2x4x64xf32>) outs(%a : memref<2x4x64xf32>) batch [] group [0, 0, 0] channel [] feature []
      windows [#rt.window<image 1 kernel 1 out 1 stride 1 dilation 1 low 3>, #rt.window<image 2 kernel 2 out 2 stride 1 dilation 1 low 40>] accumulate constant clamp [0.0, 6.0]
  // CHECK: llvm.call @dist_comm_index(%{{.*}}, %{{.*}}) : (!llvm.ptr, i32) -> i64
  %index = rt.comm_index 2
  %c5 = arith.constant 5 : index
  %bad = arith.cmpi uge, %index, %c5 : index
  // A failed check is stored, if it is the first: its number in the first word, its value in its own. Who is not the
  // first writes nothing, whatever other threads do meanwhile.
  // CHECK: llvm.call @dist_check(%{{.*}}) : (!llvm.ptr) -> i32
  rt.check
  // CHECK-NOT: llvm.call
  // CHECK-NOT: llvm.store
  // CHECK: llvm.cmpxchg %[[STATUS:.*]], %{{.*}}, %{{.*}} monotonic monotonic
  // CHECK-NOT: llvm.store
  // CHECK: %[[DONE:.*]] = llvm.cmpxchg %[[STATUS]], %{{.*}}, %{{.*}} monotonic monotonic
  // CHECK: %[[FIRST:.*]] = llvm.extractvalue %[[DONE]][1]
  // CHECK: llvm.cond_br %[[FIRST]], ^[[WON:.*]], ^{{.*}}
  // CHECK: ^[[WON]]:
  // CHECK: %[[SLOT:.*]] = llvm.getelementptr %[[STATUS]][2]
  // CHECK: llvm.store %{{.*}}, %[[SLOT]]
  // CHECK-NOT: llvm.store
  cf.cond_br %bad, ^fails, ^done
^fails:
  rt.fail %status, "the sky is up" : !llvm.ptr
  rt.fail %status, "the index is in [0, 5)" value %index : !llvm.ptr
  cf.br ^done
^done:
  return
}
