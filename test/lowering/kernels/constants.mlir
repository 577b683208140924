// What never changes is marked, so that the runtime brings it into the order it wants once.
//
// RUN: dist-opt %s --dist-select-contractions --split-input-file | FileCheck %s

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>

memref.global "private" constant @g : memref<48x32xf32> = dense<2.0>

// A parameter, on either side; a constant; a part of a parameter that stays where it is.
// CHECK-LABEL: func.func @constants
// CHECK: rt.contract ins(%arg0, %arg1 {{.*}} accumulate constant_b{{$}}
// CHECK: rt.contract ins(%arg1, %arg0 {{.*}} accumulate constant_a{{$}}
// CHECK: rt.contract ins(%arg0, {{.*}} accumulate constant_b{{$}}
// CHECK: rt.contract ins(%arg0, %subview {{.*}} accumulate constant_b only_b{{$}}
func.func @constants(%x: memref<64x32xf32>, %w: memref<48x32xf32> {dist.parameter = "w"}, %v: memref<96x32xf32> {dist.parameter = "v"},
                     %y: memref<64x48xf32>, %z: memref<48x64xf32>) {
  linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %w : memref<64x32xf32>, memref<48x32xf32>) outs(%y : memref<64x48xf32>)
  linalg.contract indexing_maps = [#a, #b, #c] ins(%w, %x : memref<48x32xf32>, memref<64x32xf32>) outs(%z : memref<48x64xf32>)
  %g = memref.get_global @g : memref<48x32xf32>
  linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %g : memref<64x32xf32>, memref<48x32xf32>) outs(%y : memref<64x48xf32>)
  %part = memref.subview %v[48, 0] [48, 32] [1, 1] : memref<96x32xf32> to memref<48x32xf32, strided<[32, 1], offset: 1536>>
  linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %part : memref<64x32xf32>, memref<48x32xf32, strided<[32, 1], offset: 1536>>) outs(%y : memref<64x48xf32>)
  return
}

// -----

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>

// An input, what is computed, and a part that moves: copies of each of its places would be kept.
// CHECK-LABEL: func.func @changing
// CHECK-NOT: constant_
func.func @changing(%x: memref<64x32xf32>, %w: memref<48x32xf32> {dist.input = "w"}, %v: memref<96x32xf32> {dist.parameter = "v"},
                    %y: memref<64x48xf32>, %at: index) {
  linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %w : memref<64x32xf32>, memref<48x32xf32>) outs(%y : memref<64x48xf32>)
  %own = memref.alloc() : memref<48x32xf32>
  memref.copy %w, %own : memref<48x32xf32> to memref<48x32xf32>
  linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %own : memref<64x32xf32>, memref<48x32xf32>) outs(%y : memref<64x48xf32>)
  %part = memref.subview %v[%at, 0] [48, 32] [1, 1] : memref<96x32xf32> to memref<48x32xf32, strided<[32, 1], offset: ?>>
  linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %part : memref<64x32xf32>, memref<48x32xf32, strided<[32, 1], offset: ?>>) outs(%y : memref<64x48xf32>)
  return
}

// -----

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>

// What a product alone reads, under whatever name, need not stay: but not what is copied too, or both of its operands.
// CHECK-LABEL: func.func @only
// CHECK: rt.contract ins(%arg0, %collapse_shape {{.*}} accumulate constant_b only_b{{$}}
// CHECK: rt.contract ins(%arg2, %arg0 {{.*}} accumulate constant_a only_a{{$}}
// CHECK: rt.contract ins(%arg0, %arg3 {{.*}} accumulate constant_b{{$}}
// CHECK: rt.contract ins(%arg4, %arg4 {{.*}} accumulate constant_a constant_b{{$}}
func.func @only(%x: memref<64x32xf32>, %v: memref<48x8x4xf32> {dist.parameter = "v"}, %w: memref<48x32xf32> {dist.parameter = "w"},
                %u: memref<48x32xf32> {dist.parameter = "u"}, %t: memref<48x32xf32> {dist.parameter = "t"},
                %y: memref<64x48xf32>, %z: memref<48x64xf32>, %s: memref<48x48xf32>, %copy: memref<48x32xf32>) {
  %flat = memref.collapse_shape %v [[0], [1, 2]] : memref<48x8x4xf32> into memref<48x32xf32>
  linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %flat : memref<64x32xf32>, memref<48x32xf32>) outs(%y : memref<64x48xf32>)
  linalg.contract indexing_maps = [#a, #b, #c] ins(%w, %x : memref<48x32xf32>, memref<64x32xf32>) outs(%z : memref<48x64xf32>)
  linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %u : memref<64x32xf32>, memref<48x32xf32>) outs(%y : memref<64x48xf32>)
  memref.copy %u, %copy : memref<48x32xf32> to memref<48x32xf32>
  linalg.contract indexing_maps = [#a, #b, #c] ins(%t, %t : memref<48x32xf32>, memref<48x32xf32>) outs(%s : memref<48x48xf32>)
  return
}
