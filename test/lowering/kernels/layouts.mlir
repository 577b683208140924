// Images of convolutions get their channels innermost in memory, and what is walked over with them too.
//
// RUN: dist-opt %s --dist-choose-layouts --split-input-file | FileCheck %s

// The argument and the result stay; the buffers between them, views, a copy and an elementwise op follow.
// CHECK-LABEL: func.func @chain
// CHECK: %[[A:.*]] = memref.alloc() : memref<1x9x9x8xf32>
// CHECK: %[[V:.*]] = memref.reinterpret_cast %[[A]] to offset: [0], sizes: [1, 8, 9, 9], strides: [648, 1, 72, 8]
// CHECK: memref.alloc() : memref<1x11x11x8xf32>
// CHECK: memref.alloc() : memref<1x9x9x8xf32>
// CHECK: rt.convolve ins(%arg0, {{.*}}) outs(%[[V]] : memref<1x8x9x9xf32, strided<[648, 1, 72, 8]>>){{.*}} constant
// CHECK: linalg.generic
// CHECK-SAME: outs({{.*}} : memref<1x8x9x9xf32, strided<[968, 1, 88, 8], offset: 96>>)
// CHECK: rt.convolve {{.*}} outs(%arg3 : memref<1x8x9x9xf32>)
// CHECK-NOT: constant
#same = affine_map<(n, c, h, w) -> (n, c, h, w)>
func.func @chain(%x: memref<1x3x11x11xf32>, %w: memref<8x3x3x3xf32> {dist.parameter = "w"}, %v: memref<8x8x3x3xf32>, %y: memref<1x8x9x9xf32>) {
  %a = memref.alloc() : memref<1x8x9x9xf32>
  %b = memref.alloc() : memref<1x8x11x11xf32>
  %c = memref.alloc() : memref<1x8x9x9xf32>
  rt.convolve ins(%x, %w : memref<1x3x11x11xf32>, memref<8x3x3x3xf32>) outs(%a : memref<1x8x9x9xf32>) batch [0, 0] group [] channel [1, 1] feature [0, 1]
      windows [#rt.window<image 2 kernel 2 out 2 stride 1 dilation 1 low 0>, #rt.window<image 3 kernel 3 out 3 stride 1 dilation 1 low 0>]
  memref.copy %a, %c : memref<1x8x9x9xf32> to memref<1x8x9x9xf32>
  %middle = memref.subview %b[0, 0, 1, 1] [1, 8, 9, 9] [1, 1, 1, 1] : memref<1x8x11x11xf32> to memref<1x8x9x9xf32, strided<[968, 121, 11, 1], offset: 12>>
  linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%c : memref<1x8x9x9xf32>) outs(%middle : memref<1x8x9x9xf32, strided<[968, 121, 11, 1], offset: 12>>) {
  ^bb0(%e: f32, %o: f32):
    %m = math.absf %e : f32
    linalg.yield %m : f32
  }
  rt.convolve ins(%b, %v : memref<1x8x11x11xf32>, memref<8x8x3x3xf32>) outs(%y : memref<1x8x9x9xf32>) batch [0, 0] group [] channel [1, 1] feature [0, 1]
      windows [#rt.window<image 2 kernel 2 out 2 stride 1 dilation 1 low 0>, #rt.window<image 3 kernel 3 out 3 stride 1 dilation 1 low 0>]
  return
}

// -----

// Groups are followed by their channels; where space is merged, it still can be.
// CHECK-LABEL: func.func @merged
// CHECK: memref.alloc() : memref<1x4x4x2x3xf32>
// CHECK: memref.collapse_shape {{.*}} into memref<1x2x3x16xf32, strided<[96, 3, 1, 6]>>
func.func @merged(%x: memref<1x2x2x4x4xf32>, %w: memref<2x3x2x1x1xf32>, %y: memref<1x2x3x16xf32>) {
  %a = memref.alloc() : memref<1x2x3x4x4xf32>
  rt.convolve ins(%x, %w : memref<1x2x2x4x4xf32>, memref<2x3x2x1x1xf32>) outs(%a : memref<1x2x3x4x4xf32>) batch [0, 0] group [1, 0, 1] channel [2, 2] feature [1, 2]
      windows [#rt.window<image 3 kernel 3 out 3 stride 1 dilation 1 low 0>, #rt.window<image 4 kernel 4 out 4 stride 1 dilation 1 low 0>]
  %m = memref.collapse_shape %a [[0], [1], [2], [3, 4]] : memref<1x2x3x4x4xf32> into memref<1x2x3x16xf32>
  memref.copy %m, %y : memref<1x2x3x16xf32> to memref<1x2x3x16xf32>
  return
}

// -----

// What is merged with the channels, or sent, stays as it is.
// CHECK-LABEL: func.func @stays
// CHECK: memref.alloc() : memref<1x3x4x4xf32>
// CHECK: memref.alloc() : memref<1x3x4x4xf32>
// CHECK-NOT: reinterpret_cast
func.func @stays(%x: memref<1x2x4x4xf32>, %w: memref<3x2x1x1xf32>, %y: memref<48xf32>, %z: memref<1x3x4x4xf32>) {
  %a = memref.alloc() : memref<1x3x4x4xf32>
  %b = memref.alloc() : memref<1x3x4x4xf32>
  rt.convolve ins(%x, %w : memref<1x2x4x4xf32>, memref<3x2x1x1xf32>) outs(%a : memref<1x3x4x4xf32>) batch [0, 0] group [] channel [1, 1] feature [0, 1]
      windows [#rt.window<image 2 kernel 2 out 2 stride 1 dilation 1 low 0>, #rt.window<image 3 kernel 3 out 3 stride 1 dilation 1 low 0>]
  rt.convolve ins(%x, %w : memref<1x2x4x4xf32>, memref<3x2x1x1xf32>) outs(%b : memref<1x3x4x4xf32>) batch [0, 0] group [] channel [1, 1] feature [0, 1]
      windows [#rt.window<image 2 kernel 2 out 2 stride 1 dilation 1 low 0>, #rt.window<image 3 kernel 3 out 3 stride 1 dilation 1 low 0>]
  %m = memref.collapse_shape %a [[0, 1, 2, 3]] : memref<1x3x4x4xf32> into memref<48xf32>
  memref.copy %m, %y : memref<48xf32> to memref<48xf32>
  rt.all_reduce comm 0 site 0 <sum> ins(%b : memref<1x3x4x4xf32>) outs(%z : memref<1x3x4x4xf32>)
  return
}
