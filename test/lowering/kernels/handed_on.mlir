// Which ops hand on one of two buffers: each stands between a writer in place and a reader under the other name
// (aliases.mlir), which are not one kernel.
//
// RUN: dist-opt %s --dist-form-kernels --split-input-file | FileCheck %s

// A switch.
// CHECK-LABEL: func.func @switch
// CHECK: arith.addf
// CHECK-NOT: arith.mulf
// CHECK: func.func private
// CHECK: arith.mulf
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
module attributes {rt.num_results = 1 : i64} {
  func.func @switch(%c: i1, %n: index, %x: memref<8x16xf32>, %result: memref<8x16xf32>) {
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %a = memref.alloc() : memref<8x16xf32>
    %b = memref.alloc() : memref<8x16xf32>
    linalg.fill ins(%zero : f32) outs(%a : memref<8x16xf32>)
    linalg.fill ins(%one : f32) outs(%b : memref<8x16xf32>)
    %r = scf.index_switch %n -> memref<8x16xf32>
    case 1 {
      scf.yield %a : memref<8x16xf32>
    }
    default {
      scf.yield %b : memref<8x16xf32>
    }
    %row = memref.subview %a[0, 0] [1, 16] [1, 1] : memref<8x16xf32> to memref<16xf32, strided<[1]>>
    linalg.generic {indexing_maps = [#row, #id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%row, %x : memref<16xf32, strided<[1]>>, memref<8x16xf32>) outs(%result : memref<8x16xf32>) {
    ^bb0(%p: f32, %q: f32, %o: f32):
      %s = arith.addf %p, %q : f32
      linalg.yield %s : f32
    }
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%result : memref<8x16xf32>) outs(%r : memref<8x16xf32>) {
    ^bb0(%p: f32, %o: f32):
      %s = arith.mulf %p, %o : f32
      linalg.yield %s : f32
    }
    memref.copy %r, %result : memref<8x16xf32> to memref<8x16xf32>
    return
  }
}

// -----

// A while loop, whose second part yields a buffer of its surroundings.
// CHECK-LABEL: func.func @while
// CHECK: arith.addf
// CHECK-NOT: arith.mulf
// CHECK: func.func private
// CHECK: arith.mulf
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
module attributes {rt.num_results = 1 : i64} {
  func.func @while(%c: i1, %x: memref<8x16xf32>, %result: memref<8x16xf32>) {
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %a = memref.alloc() : memref<8x16xf32>
    %b = memref.alloc() : memref<8x16xf32>
    linalg.fill ins(%zero : f32) outs(%a : memref<8x16xf32>)
    linalg.fill ins(%one : f32) outs(%b : memref<8x16xf32>)
    %r = scf.while (%p = %b) : (memref<8x16xf32>) -> memref<8x16xf32> {
      scf.condition(%c) %p : memref<8x16xf32>
    } do {
    ^bb0(%p: memref<8x16xf32>):
      scf.yield %a : memref<8x16xf32>
    }
    %row = memref.subview %a[0, 0] [1, 16] [1, 1] : memref<8x16xf32> to memref<16xf32, strided<[1]>>
    linalg.generic {indexing_maps = [#row, #id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%row, %x : memref<16xf32, strided<[1]>>, memref<8x16xf32>) outs(%result : memref<8x16xf32>) {
    ^bb0(%p: f32, %q: f32, %o: f32):
      %s = arith.addf %p, %q : f32
      linalg.yield %s : f32
    }
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%result : memref<8x16xf32>) outs(%r : memref<8x16xf32>) {
    ^bb0(%p: f32, %o: f32):
      %s = arith.mulf %p, %o : f32
      linalg.yield %s : f32
    }
    memref.copy %r, %result : memref<8x16xf32> to memref<8x16xf32>
    return
  }
}

// -----

// A region of several blocks.
// CHECK-LABEL: func.func @blocks
// CHECK: arith.addf
// CHECK-NOT: arith.mulf
// CHECK: func.func private
// CHECK: arith.mulf
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
module attributes {rt.num_results = 1 : i64} {
  func.func @blocks(%c: i1, %x: memref<8x16xf32>, %result: memref<8x16xf32>) {
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %a = memref.alloc() : memref<8x16xf32>
    %b = memref.alloc() : memref<8x16xf32>
    linalg.fill ins(%zero : f32) outs(%a : memref<8x16xf32>)
    linalg.fill ins(%one : f32) outs(%b : memref<8x16xf32>)
    %r = scf.execute_region -> memref<8x16xf32> {
      cf.cond_br %c, ^last(%a : memref<8x16xf32>), ^two
    ^two:
      cf.br ^last(%b : memref<8x16xf32>)
    ^last(%p: memref<8x16xf32>):
      scf.yield %p : memref<8x16xf32>
    }
    %row = memref.subview %a[0, 0] [1, 16] [1, 1] : memref<8x16xf32> to memref<16xf32, strided<[1]>>
    linalg.generic {indexing_maps = [#row, #id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%row, %x : memref<16xf32, strided<[1]>>, memref<8x16xf32>) outs(%result : memref<8x16xf32>) {
    ^bb0(%p: f32, %q: f32, %o: f32):
      %s = arith.addf %p, %q : f32
      linalg.yield %s : f32
    }
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%result : memref<8x16xf32>) outs(%r : memref<8x16xf32>) {
    ^bb0(%p: f32, %o: f32):
      %s = arith.mulf %p, %o : f32
      linalg.yield %s : f32
    }
    memref.copy %r, %result : memref<8x16xf32> to memref<8x16xf32>
    return
  }
}

// -----

// An op that nothing is known of.
// CHECK-LABEL: func.func @unknown
// CHECK: arith.addf
// CHECK-NOT: arith.mulf
// CHECK: func.func private
// CHECK: arith.mulf
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
module attributes {rt.num_results = 1 : i64} {
  func.func @unknown(%c: i1, %x: memref<8x16xf32>, %result: memref<8x16xf32>) {
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %a = memref.alloc() : memref<8x16xf32>
    %b = memref.alloc() : memref<8x16xf32>
    linalg.fill ins(%zero : f32) outs(%a : memref<8x16xf32>)
    linalg.fill ins(%one : f32) outs(%b : memref<8x16xf32>)
    %r = builtin.unrealized_conversion_cast %a : memref<8x16xf32> to memref<8x16xf32>
    %row = memref.subview %a[0, 0] [1, 16] [1, 1] : memref<8x16xf32> to memref<16xf32, strided<[1]>>
    linalg.generic {indexing_maps = [#row, #id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%row, %x : memref<16xf32, strided<[1]>>, memref<8x16xf32>) outs(%result : memref<8x16xf32>) {
    ^bb0(%p: f32, %q: f32, %o: f32):
      %s = arith.addf %p, %q : f32
      linalg.yield %s : f32
    }
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%result : memref<8x16xf32>) outs(%r : memref<8x16xf32>) {
    ^bb0(%p: f32, %o: f32):
      %s = arith.mulf %p, %o : f32
      linalg.yield %s : f32
    }
    memref.copy %r, %result : memref<8x16xf32> to memref<8x16xf32>
    return
  }
}

// -----

// A select of views, and a view of what it selects.
// CHECK-LABEL: func.func @views
// CHECK: arith.addf
// CHECK-NOT: arith.mulf
// CHECK: func.func private
// CHECK: arith.mulf
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
module attributes {rt.num_results = 1 : i64} {
  func.func @views(%c: i1, %x: memref<8x16xf32>, %result: memref<8x16xf32>) {
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %a = memref.alloc() : memref<8x16xf32>
    %b = memref.alloc() : memref<8x16xf32>
    linalg.fill ins(%zero : f32) outs(%a : memref<8x16xf32>)
    linalg.fill ins(%one : f32) outs(%b : memref<8x16xf32>)
    %u = memref.collapse_shape %a [[0, 1]] : memref<8x16xf32> into memref<128xf32>
    %v = memref.collapse_shape %b [[0, 1]] : memref<8x16xf32> into memref<128xf32>
    %w = arith.select %c, %u, %v : memref<128xf32>
    %r = memref.expand_shape %w [[0, 1]] output_shape [8, 16] : memref<128xf32> into memref<8x16xf32>
    %row = memref.subview %a[0, 0] [1, 16] [1, 1] : memref<8x16xf32> to memref<16xf32, strided<[1]>>
    linalg.generic {indexing_maps = [#row, #id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%row, %x : memref<16xf32, strided<[1]>>, memref<8x16xf32>) outs(%result : memref<8x16xf32>) {
    ^bb0(%p: f32, %q: f32, %o: f32):
      %s = arith.addf %p, %q : f32
      linalg.yield %s : f32
    }
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%result : memref<8x16xf32>) outs(%r : memref<8x16xf32>) {
    ^bb0(%p: f32, %o: f32):
      %s = arith.mulf %p, %o : f32
      linalg.yield %s : f32
    }
    memref.copy %r, %result : memref<8x16xf32> to memref<8x16xf32>
    return
  }
}
