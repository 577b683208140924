// A row is added up in an order that depends on its length: in as many parts at once, whatever else the loop does and wherever its buffers lie.
// RUN: dist-opt %s --dist-form-kernels | FileCheck %s
// RUN: dist-opt %s --dist-form-kernels | FileCheck %s --check-prefix=SHORT

// CHECK-DAG: #[[FOUR:.*]] = #llvm.loop_interleave<count = 4 : i32>
// CHECK-DAG: #[[OF:.*]] = #llvm.loop_annotation<interleave = #[[FOUR]]>
// SHORT-DAG: #[[TWO:.*]] = #llvm.loop_interleave<count = 2 : i32>
// LLVM looks for vectors of a short row before it makes scalars of it.
// SHORT-DAG: #[[KEPT:.*]] = #llvm.loop_unroll<disable = true>
// SHORT-DAG: #[[VECTORS:.*]] = #llvm.loop_annotation<isVectorized = true>
// SHORT-DAG: #[[FIRST:.*]] = #llvm.loop_vectorize<followupVectorized = #[[VECTORS]]>
// SHORT-DAG: #[[OF:.*]] = #llvm.loop_annotation<vectorize = #[[FIRST]], interleave = #[[TWO]], unroll = #[[KEPT]]>
#row = affine_map<(r, i) -> (r, i)>
#sum = affine_map<(r, i) -> (r)>
func.func @main(%x: memref<8x512xf32>, %y: memref<8xf32>, %s: memref<8x32xf32>, %t: memref<8xf32>) {
  linalg.generic {indexing_maps = [#row, #sum], iterator_types = ["parallel", "reduction"]} ins(%x : memref<8x512xf32>) outs(%y : memref<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %a = arith.addf %in, %out : f32
    linalg.yield %a : f32
  }
  dist.fence
  linalg.generic {indexing_maps = [#row, #sum], iterator_types = ["parallel", "reduction"]} ins(%s : memref<8x32xf32>) outs(%t : memref<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %a = arith.addf %in, %out : f32
    linalg.yield %a : f32
  }
  return
}
// CHECK: memref<4096xf32>
// CHECK: arith.addf {{.*}}fastmath<reassoc
// CHECK: } {llvm.loop_annotation = #[[OF]]}
// SHORT: memref<256xf32>
// SHORT: } {llvm.loop_annotation = #[[OF]]}
