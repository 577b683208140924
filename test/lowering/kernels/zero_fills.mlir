// A zero fill becomes part of the contraction only if nothing touches its memory in between, under any name.
//
// RUN: dist-opt %s --dist-select-contractions --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @alone
// CHECK: linalg.fill {{.*}} outs(%alloc_0
// CHECK-NOT: linalg.fill
// CHECK: rt.contract
// CHECK-NOT: accumulate
func.func @alone(%c: i1, %x: memref<16x16xf32>, %y: memref<16x16xf32>, %z: memref<16x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %a = memref.alloc() : memref<16x16xf32>
  %b = memref.alloc() : memref<16x16xf32>
  linalg.fill ins(%zero : f32) outs(%b : memref<16x16xf32>)
  linalg.fill ins(%zero : f32) outs(%a : memref<16x16xf32>)
  linalg.matmul ins(%x, %y : memref<16x16xf32>, memref<16x16xf32>) outs(%a : memref<16x16xf32>)
  memref.copy %a, %z : memref<16x16xf32> to memref<16x16xf32>
  return
}

// -----

// What is read in between is another buffer.
// CHECK-LABEL: func.func @other_between
// CHECK-NOT: linalg.fill
// CHECK: rt.contract
// CHECK-NOT: accumulate
func.func @other_between(%c: i1, %x: memref<16x16xf32>, %y: memref<16x16xf32>, %z: memref<16x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %a = memref.alloc() : memref<16x16xf32>
  %b = memref.alloc() : memref<16x16xf32>
  %d = memref.alloc() : memref<16x16xf32>
  %r = arith.select %c, %b, %d : memref<16x16xf32>
  linalg.fill ins(%zero : f32) outs(%a : memref<16x16xf32>)
  memref.copy %r, %z : memref<16x16xf32> to memref<16x16xf32>
  linalg.matmul ins(%x, %y : memref<16x16xf32>, memref<16x16xf32>) outs(%a : memref<16x16xf32>)
  memref.copy %a, %z : memref<16x16xf32> to memref<16x16xf32>
  return
}

// -----

// CHECK-LABEL: func.func @read_between
// CHECK: linalg.fill
// CHECK: memref.copy
// CHECK: rt.contract
// CHECK-SAME: accumulate
func.func @read_between(%c: i1, %x: memref<16x16xf32>, %y: memref<16x16xf32>, %z: memref<16x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %a = memref.alloc() : memref<16x16xf32>
  %b = memref.alloc() : memref<16x16xf32>
  %r = arith.select %c, %a, %b : memref<16x16xf32>
  linalg.fill ins(%zero : f32) outs(%a : memref<16x16xf32>)
  memref.copy %r, %z : memref<16x16xf32> to memref<16x16xf32>
  linalg.matmul ins(%x, %y : memref<16x16xf32>, memref<16x16xf32>) outs(%a : memref<16x16xf32>)
  memref.copy %a, %z : memref<16x16xf32> to memref<16x16xf32>
  return
}

// -----

// CHECK-LABEL: func.func @written_between
// CHECK: linalg.fill
// CHECK: rt.contract
// CHECK-SAME: accumulate
func.func @written_between(%c: i1, %x: memref<16x16xf32>, %y: memref<16x16xf32>, %z: memref<16x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %a = memref.alloc() : memref<16x16xf32>
  %b = memref.alloc() : memref<16x16xf32>
  %r = arith.select %c, %a, %b : memref<16x16xf32>
  linalg.fill ins(%zero : f32) outs(%a : memref<16x16xf32>)
  scf.if %c {
    memref.copy %x, %r : memref<16x16xf32> to memref<16x16xf32>
  }
  linalg.matmul ins(%x, %y : memref<16x16xf32>, memref<16x16xf32>) outs(%a : memref<16x16xf32>)
  memref.copy %a, %z : memref<16x16xf32> to memref<16x16xf32>
  return
}
