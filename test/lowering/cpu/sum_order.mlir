// The order of a sum is in the program: LLVM may not reassociate it. The terms of a row are added up in lanes, 64 at most, then
// the lanes by halves; of a column eight terms at a time, in the order of rows.
// RUN: dist-opt %s --dist-form-kernels | FileCheck %s --implicit-check-not=reassoc

// LLVM looks for vectors of lanes before it makes scalars of them, and makes scalars of a column's few terms.
// CHECK-DAG: #[[NONE:.*]] = #llvm.loop_unroll<disable = true>
// CHECK-DAG: #[[FULL:.*]] = #llvm.loop_unroll<full = true>
// CHECK-DAG: #[[VECTORS:.*]] = #llvm.loop_annotation<isVectorized = true>
// CHECK-DAG: #[[FIRST:.*]] = #llvm.loop_vectorize<followupVectorized = #[[VECTORS]]>
// CHECK-DAG: #[[FOUR:.*]] = #llvm.loop_interleave<count = 4 : i32>
// CHECK-DAG: #[[$LANES:.*]] = #llvm.loop_annotation<vectorize = #[[FIRST]], interleave = #[[FOUR]], unroll = #[[NONE]]>
// CHECK-DAG: #[[$FEW:.*]] = #llvm.loop_annotation<unroll = #[[FULL]]>
#all = affine_map<(r, i) -> (r, i)>
#row = affine_map<(r, i) -> (r)>
#column = affine_map<(r, i) -> (i)>
func.func @main(%x: memref<20x500xf32>, %y: memref<20xf32>, %z: memref<500xf32>) {
  // CHECK-LABEL: func.func private @kernel_0
  // CHECK: %[[MEMORY:.*]] = memref.alloca() {alignment = 64 : i64} : memref<32xf32>
  // CHECK: scf.for %[[R:.*]] = %c0 to %c20 step %c1 {
  // CHECK: scf.for %[[START:.*]] = %c0 to %c480 step %c32 {
  // CHECK-NEXT: scf.for %[[LANE:.*]] = %c0 to %c32 step %c1 {
  // CHECK: arith.addi %[[START]], %[[LANE]]
  // CHECK: %[[SO_FAR:.*]] = memref.load %[[MEMORY]][%[[LANE]]]
  // CHECK: %[[SUM:.*]] = arith.addf %{{.*}}, %[[SO_FAR]] : f32
  // CHECK: memref.store %[[SUM]], %[[MEMORY]][%[[LANE]]]
  // CHECK-NEXT: } {llvm.loop_annotation = #[[$LANES]]}
  // 20 terms are left: in 16 and 4 lanes.
  // CHECK: scf.for %{{.*}} = %c0 to %c16 step %c1 {
  // CHECK: scf.for %{{.*}} = %c16 to %c20 step %c1 {
  // CHECK: %[[ALL:.*]] = vector.load %[[MEMORY]][%c0]
  // CHECK: %[[LOW:.*]] = vector.shuffle %[[ALL]], %[[ALL]] [0, 1, 2, {{.*}}, 15]
  // CHECK: %[[HIGH:.*]] = vector.shuffle %[[ALL]], %[[ALL]] [16, 17, 18, {{.*}}, 31]
  // CHECK: arith.addf %[[LOW]], %[[HIGH]] : vector<16xf32>
  // CHECK: arith.addf {{.*}} : vector<8xf32>
  // CHECK: arith.addf {{.*}} : vector<1xf32>
  linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<20x500xf32>) outs(%y : memref<20xf32>) {
  ^bb0(%in: f32, %out: f32):
    %a = arith.addf %in, %out : f32
    linalg.yield %a : f32
  }
  dist.fence
  // CHECK-LABEL: func.func private @kernel_1
  // CHECK: scf.for %[[START:.*]] = %c0 to %c16 step %c8 {
  // CHECK-NEXT: scf.for %[[I:.*]] = %c0 to %c500 step %c1 {
  // CHECK: %[[NONE:.*]] = arith.constant -0.0
  // CHECK-NEXT: %[[EIGHT:.*]] = scf.for %[[R:.*]] = %c0 to %c8 step %c1 iter_args(%{{.*}} = %[[NONE]])
  // CHECK: } {llvm.loop_annotation = #[[$FEW]]}
  // CHECK-NEXT: %[[SO_FAR:.*]] = memref.load %{{.*}}[%[[I]]]
  // CHECK-NEXT: %[[SUM:.*]] = arith.addf %[[SO_FAR]], %[[EIGHT]] : f32
  // CHECK-NEXT: memref.store %[[SUM]], %{{.*}}[%[[I]]]
  // CHECK: scf.for %{{.*}} = %c0 to %c4 step %c1 iter_args
  linalg.generic {indexing_maps = [#all, #column], iterator_types = ["reduction", "parallel"]} ins(%x : memref<20x500xf32>) outs(%z : memref<500xf32>) {
  ^bb0(%in: f32, %out: f32):
    %a = arith.addf %in, %out : f32
    linalg.yield %a : f32
  }
  return
}
