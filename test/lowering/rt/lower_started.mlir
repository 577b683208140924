// A collective on a stream starts where it stands and is waited for before its first use.
// RUN: dist-opt %s --dist-lower-collectives | FileCheck %s
// RUN: dist-opt %s --dist-lower-collectives --canonicalize --cse --dist-bufferize --canonicalize | FileCheck %s --check-prefix=BUFFERS
dist.mesh @m ["tp" = 2]

#same = affine_map<(i, j) -> (i, j)>

// The operand is squared while it is in flight: elsewhere than in its place.
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = linalg.exp
// CHECK: %[[D:.*]] = tensor.empty
// CHECK: %[[R:.*]]:2 = rt.all_reduce comm 0 site 0 stream 1 <sum> ins(%[[A]] : tensor<8x16xf32>) outs(%[[D]] : tensor<8x16xf32>) -> tensor<8x16xf32>, !rt.token
// CHECK: %[[B:.*]] = linalg.generic
// CHECK: %[[W:.*]] = rt.wait %[[R]]#1 reads(%[[A]] : tensor<8x16xf32>) outs(%[[R]]#0 : tensor<8x16xf32>) -> tensor<8x16xf32>
// CHECK: linalg.generic {{.*}} ins(%[[W]], %[[B]] :
// BUFFERS-LABEL: func.func @main
// BUFFERS: linalg.exp {{.*}} outs(%[[A:.*]] : memref
// BUFFERS: %[[T:.*]] = rt.all_reduce comm 0 site 0 stream 1 <sum> ins(%[[A]] : memref<8x16xf32>) outs(%[[R:.*]] : memref<8x16xf32>) -> !rt.token
// BUFFERS: linalg.generic {{.*}} ins(%[[A]] : memref<8x16xf32>) outs(%[[B:.*]] : memref<8x16xf32>)
// BUFFERS: rt.wait %[[T]] reads(%[[A]] : memref<8x16xf32>) outs(%[[R]] : memref<8x16xf32>)
// BUFFERS: linalg.generic {{.*}} ins(%[[R]], %[[B]] : memref<8x16xf32>, memref<8x16xf32>)
// BUFFERS-NOT: memref.copy
// BUFFERS: return
func.func @main(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %e = tensor.empty() : tensor<8x16xf32>
  %a = linalg.exp ins(%x : tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %r = dist.all_reduce %a sum over "tp" {dist.stream = 1 : i32} : tensor<8x16xf32>
  %b = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %v = arith.mulf %in, %in : f32
    linalg.yield %v : f32
  } -> tensor<8x16xf32>
  %d = linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel", "parallel"]} ins(%r, %b : tensor<8x16xf32>, tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) {
  ^bb0(%in: f32, %other: f32, %out: f32):
    %v = arith.addf %in, %other : f32
    linalg.yield %v : f32
  } -> tensor<8x16xf32>
  return %d : tensor<8x16xf32>
}

// What is used within a region is waited for before it. A slice has a layout: the call gets a contiguous copy, which
// is what is in flight.
// CHECK-LABEL: func.func @region
// CHECK: rt.all_gather {{.*}} stream 2
// CHECK: rt.wait
// CHECK: scf.if
// BUFFERS-LABEL: func.func @region
// BUFFERS: memref.copy %{{.*}}, %[[COPY:.*]] : memref<4x4xf32, strided<[16, 1]{{.*}}>> to memref<4x4xf32>
// BUFFERS: rt.all_gather {{.*}} ins(%[[COPY]] : memref<4x4xf32>)
// BUFFERS: rt.wait %{{.*}} reads(%[[COPY]] : memref<4x4xf32>)
func.func @region(%x: tensor<4x16xf32>, %p: tensor<i1>) -> tensor<8x4xf32> {
  %part = tensor.extract_slice %x[0, 4] [4, 4] [1, 1] : tensor<4x16xf32> to tensor<4x4xf32>
  %g = dist.all_gather %part dim 0 over "tp" {dist.stream = 2 : i32} : tensor<4x4xf32> -> tensor<8x4xf32>
  %c = tensor.extract %p[] : tensor<i1>
  %r = scf.if %c -> tensor<8x4xf32> {
    %e = tensor.empty() : tensor<8x4xf32>
    %n = linalg.negf ins(%g : tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
    scf.yield %n : tensor<8x4xf32>
  } else {
    scf.yield %g : tensor<8x4xf32>
  }
  return %r : tensor<8x4xf32>
}

// Of functions in each other's place: a call that is done where it stands finds its communicator free.
// CHECK-LABEL: func.func @inlined
// CHECK: %[[G:.*]]:2 = rt.all_reduce {{.*}} stream 1
// CHECK: %[[OTHER:.*]]:2 = rt.all_reduce {{.*}} stream 1
// CHECK: rt.wait %[[G]]#1
// CHECK-NEXT: rt.wait %[[OTHER]]#1
// CHECK-NEXT: scf.if
// CHECK: rt.all_reduce comm 0 site {{[0-9]+}} <max>
func.func @inlined(%x: tensor<4xf32>, %c: i1) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %g = dist.all_reduce %x sum over "tp" {dist.stream = 1 : i32} : tensor<4xf32>
  %h = dist.all_reduce %x min over "tp" {dist.stream = 1 : i32} : tensor<4xf32>
  %r = scf.if %c -> tensor<4xf32> {
    %m = dist.all_reduce %x max over "tp" : tensor<4xf32>
    scf.yield %m : tensor<4xf32>
  } else {
    scf.yield %x : tensor<4xf32>
  }
  return %g, %h, %r : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// Behind a fence all that may be one kernel stays together: the wait comes before it.
// CHECK-LABEL: func.func @unit
// CHECK: rt.all_reduce {{.*}} stream 1
// CHECK: dist.fence
// CHECK-NOT: linalg
// CHECK: rt.wait
// CHECK: linalg.exp
// CHECK: linalg.add
func.func @unit(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %e = tensor.empty() : tensor<8x16xf32>
  %r = dist.all_reduce %x sum over "tp" {dist.stream = 1 : i32} : tensor<8x16xf32>
  dist.fence
  %b = linalg.exp ins(%x : tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %c = linalg.add ins(%b, %r : tensor<8x16xf32>, tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  return %c : tensor<8x16xf32>
}
