// Before each contraction and kernel the program says for which module it is, for traces; not where no module has a name.
// RUN: dist-opt %s --split-input-file --dist-cpu-convert-to-llvm | FileCheck %s

// CHECK-DAG: llvm.mlir.global internal constant @[[$FC:text_[0-9]+]]("h.0.<fc>\00")
// CHECK-DAG: llvm.mlir.global internal constant @[[$NONE:text_[0-9]+]]("\00")
// CHECK-DAG: llvm.mlir.global internal constant @[[$ACT:text_[0-9]+]]("h.0.act\00")
// CHECK-LABEL: llvm.func @dist_main
// CHECK-DAG: %[[A:.*]] = llvm.mlir.addressof @[[$FC]]
// CHECK-DAG: %[[B:.*]] = llvm.mlir.addressof @[[$NONE]]
// CHECK-DAG: %[[C:.*]] = llvm.mlir.addressof @[[$ACT]]
// CHECK: llvm.call @dist_mark(%{{.*}}, %[[A]]) : (!llvm.ptr, !llvm.ptr) -> ()
// CHECK: llvm.call @dist_contract
// CHECK: llvm.call @dist_mark(%{{.*}}, %[[B]])
// CHECK: llvm.call @dist_contract
// CHECK: llvm.call @dist_mark(%{{.*}}, %[[C]])
// CHECK: llvm.call @kernel
func.func private @kernel(%a: memref<128xf32>) {
  return
}
func.func @main(%rank: !llvm.ptr, %a: memref<128xf32>, %c: memref<2x64xf32>, %arena: memref<0xi8>, %status: !llvm.ptr) {
  rt.contract ins(%c, %c : memref<2x64xf32>, memref<2x64xf32>) outs(%c : memref<2x64xf32>) loops [#rt.loop<m 2 a 1 b 0 c 1>] {dist.scope = "h.0.<fc>"}
  rt.contract ins(%c, %c : memref<2x64xf32>, memref<2x64xf32>) outs(%c : memref<2x64xf32>) loops [#rt.loop<m 2 a 1 b 0 c 1>]
  call @kernel(%a) {dist.scope = "h.0.act"} : (memref<128xf32>) -> ()
  return
}

// -----

// CHECK-NOT: dist_mark
func.func @main(%rank: !llvm.ptr, %c: memref<2x64xf32>, %arena: memref<0xi8>, %status: !llvm.ptr) {
  rt.contract ins(%c, %c : memref<2x64xf32>, memref<2x64xf32>) outs(%c : memref<2x64xf32>) loops [#rt.loop<m 2 a 1 b 0 c 1>]
  return
}
