// Buffers that may share memory: what is fused, delayed or promised to LLVM must not depend on their being apart.
//
// RUN: dist-opt %s --dist-form-kernels --split-input-file | FileCheck %s

// %r is %a or %b. Row 0 of %a is read for each row of the result, then %r is written row by row: in one kernel the
// second row would read what the first has written.
// CHECK-LABEL: func.func @select
// CHECK: arith.addf
// CHECK-NOT: arith.mulf
// CHECK: func.func private
// CHECK: arith.mulf
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
module attributes {rt.num_results = 1 : i64} {
  func.func @select(%c: i1, %x: memref<8x16xf32>, %result: memref<8x16xf32>) {
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %a = memref.alloc() : memref<8x16xf32>
    %b = memref.alloc() : memref<8x16xf32>
    linalg.fill ins(%zero : f32) outs(%a : memref<8x16xf32>)
    linalg.fill ins(%one : f32) outs(%b : memref<8x16xf32>)
    %r = arith.select %c, %a, %b : memref<8x16xf32>
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

// The same through a branch.
// CHECK-LABEL: func.func @branch
// CHECK: arith.addf
// CHECK-NOT: arith.mulf
// CHECK: func.func private
// CHECK: arith.mulf
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
module attributes {rt.num_results = 1 : i64} {
  func.func @branch(%c: i1, %x: memref<8x16xf32>, %result: memref<8x16xf32>) {
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %a = memref.alloc() : memref<8x16xf32>
    %b = memref.alloc() : memref<8x16xf32>
    linalg.fill ins(%zero : f32) outs(%a : memref<8x16xf32>)
    linalg.fill ins(%one : f32) outs(%b : memref<8x16xf32>)
    %r = scf.if %c -> memref<8x16xf32> {
      scf.yield %a : memref<8x16xf32>
    } else {
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

// The same through a loop that swaps what it carries.
// CHECK-LABEL: func.func @loop
// CHECK: arith.addf
// CHECK-NOT: arith.mulf
// CHECK: func.func private
// CHECK: arith.mulf
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
module attributes {rt.num_results = 1 : i64} {
  func.func @loop(%n: index, %x: memref<8x16xf32>, %result: memref<8x16xf32>) {
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %a = memref.alloc() : memref<8x16xf32>
    %b = memref.alloc() : memref<8x16xf32>
    linalg.fill ins(%zero : f32) outs(%a : memref<8x16xf32>)
    linalg.fill ins(%one : f32) outs(%b : memref<8x16xf32>)
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %r, %other = scf.for %i = %c0 to %n step %c1 iter_args(%p = %a, %q = %b)
        -> (memref<8x16xf32>, memref<8x16xf32>) {
      scf.yield %q, %p : memref<8x16xf32>, memref<8x16xf32>
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

// What is not %a stays fused with a reader of %a: %r is %b or a third buffer.
// CHECK-LABEL: func.func @apart
// CHECK-COUNT-2: call
// CHECK-NOT: call
// CHECK-LABEL: func.func private @kernel_1
// CHECK: arith.addf
// CHECK: arith.mulf
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
module attributes {rt.num_results = 1 : i64} {
  func.func @apart(%c: i1, %x: memref<8x16xf32>, %result: memref<8x16xf32>) {
    %zero = arith.constant 0.0 : f32
    %a = memref.alloc() : memref<8x16xf32>
    %b = memref.alloc() : memref<8x16xf32>
    %d = memref.alloc() : memref<8x16xf32>
    linalg.fill ins(%zero : f32) outs(%a : memref<8x16xf32>)
    %r = arith.select %c, %b, %d : memref<8x16xf32>
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

// One op, in place under two names: right in any order, but not if LLVM takes them for apart. %x is.
// CHECK-LABEL: func.func @one_op
// CHECK-LABEL: func.func private @kernel_2
// CHECK-SAME: (%{{.*}}: memref<128xf32> {llvm.readonly}, %{{.*}}: memref<128xf32> {llvm.noalias, llvm.readonly}, %{{.*}}: memref<128xf32>)
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
module attributes {rt.num_results = 1 : i64} {
  func.func @one_op(%c: i1, %x: memref<8x16xf32>, %result: memref<8x16xf32>) {
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %a = memref.alloc() : memref<8x16xf32>
    %b = memref.alloc() : memref<8x16xf32>
    linalg.fill ins(%zero : f32) outs(%a : memref<8x16xf32>)
    linalg.fill ins(%one : f32) outs(%b : memref<8x16xf32>)
    %r = arith.select %c, %a, %b : memref<8x16xf32>
    linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a, %x : memref<8x16xf32>, memref<8x16xf32>) outs(%r : memref<8x16xf32>) {
    ^bb0(%p: f32, %q: f32, %o: f32):
      %s = arith.mulf %p, %q : f32
      linalg.yield %s : f32
    }
    return
  }
}

// -----

// Arguments may share memory, which harms nobody as long as they are only read; results lie in memory of their own.
// CHECK-LABEL: func.func @arguments
// CHECK-LABEL: func.func private @kernel_0
// CHECK-SAME: (%{{.*}}: memref<128xf32> {llvm.noalias, llvm.readonly}, %{{.*}}: memref<128xf32> {llvm.noalias, llvm.readonly}, %{{.*}}: memref<128xf32> {llvm.noalias})
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
module attributes {rt.num_results = 1 : i64} {
  func.func @arguments(%y: memref<8x16xf32>, %x: memref<8x16xf32>, %result: memref<8x16xf32>) {
    linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%x, %y : memref<8x16xf32>, memref<8x16xf32>) outs(%result : memref<8x16xf32>) {
    ^bb0(%p: f32, %q: f32, %o: f32):
      %s = arith.mulf %p, %q : f32
      linalg.yield %s : f32
    }
    return
  }
}

// -----

// A fill waits for what accumulates on it, unless that memory is read under another name: then it comes first.
// CHECK-LABEL: func.func @fill_read
// CHECK: call @kernel_0
// CHECK: call @kernel_1
// CHECK-LABEL: func.func private @kernel_0(
// CHECK-NOT: memref.load
// CHECK: return
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
module attributes {rt.num_results = 1 : i64} {
  func.func @fill_read(%c: i1, %x: memref<8x16xf32>, %result: memref<8x16xf32>) {
    %zero = arith.constant 0.0 : f32
    %a = memref.alloc() : memref<8x16xf32>
    %b = memref.alloc() : memref<8x16xf32>
    %r = arith.select %c, %a, %b : memref<8x16xf32>
    linalg.fill ins(%zero : f32) outs(%a : memref<8x16xf32>)
    memref.copy %r, %result : memref<8x16xf32> to memref<8x16xf32>
    memref.copy %x, %a : memref<8x16xf32> to memref<8x16xf32>
    return
  }
}

// -----

// Two fills of what may be one memory keep their order.
// CHECK-LABEL: func.func @fills
// CHECK: call @kernel_0(%{{.*}}) : (memref<128xf32>) -> ()
// CHECK: call @kernel_1
// CHECK-LABEL: func.func private @kernel_0(
// CHECK: constant 1.0
// CHECK-LABEL: func.func private @kernel_1(
// CHECK: constant 2.0
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
module attributes {rt.num_results = 1 : i64} {
  func.func @fills(%c: i1, %x: memref<8x16xf32>, %result: memref<8x16xf32>) {
    %one = arith.constant 1.0 : f32
    %two = arith.constant 2.0 : f32
    %a = memref.alloc() : memref<8x16xf32>
    %b = memref.alloc() : memref<8x16xf32>
    %r = arith.select %c, %a, %b : memref<8x16xf32>
    linalg.fill ins(%one : f32) outs(%a : memref<8x16xf32>)
    linalg.fill ins(%two : f32) outs(%r : memref<8x16xf32>)
    memref.copy %a, %result : memref<8x16xf32> to memref<8x16xf32>
    return
  }
}

// -----

// A body that looks up elements of what another op writes.
// CHECK-LABEL: func.func @gather
// CHECK: arith.addf
// CHECK-NOT: arith.mulf
// CHECK: func.func private
// CHECK: arith.mulf
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
module attributes {rt.num_results = 1 : i64} {
  func.func @gather(%c: i1, %x: memref<8x16xf32>, %result: memref<8x16xf32>) {
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %a = memref.alloc() : memref<8x16xf32>
    %b = memref.alloc() : memref<8x16xf32>
    linalg.fill ins(%zero : f32) outs(%a : memref<8x16xf32>)
    linalg.fill ins(%one : f32) outs(%b : memref<8x16xf32>)
    %r = arith.select %c, %a, %b : memref<8x16xf32>
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%x : memref<8x16xf32>) outs(%result : memref<8x16xf32>) {
    ^bb0(%p: f32, %o: f32):
      %i = linalg.index 0 : index
      %c7 = arith.constant 7 : index
      %k = arith.subi %c7, %i : index
      %g = memref.load %a[%k, %i] : memref<8x16xf32>
      %s = arith.addf %p, %g : f32
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

// A buffer from outside of a loop may carry something round it, so it does not shrink to a row of its kernel; one that is
// made in the loop does.
// CHECK-LABEL: func.func @kept
// CHECK: %[[KEPT:.*]] = memref.alloc()
// CHECK: scf.for
// CHECK: memref.collapse_shape %[[KEPT]]
// CHECK: call @kernel_0
// CHECK-LABEL: func.func private @kernel_0
// CHECK: memref.alloca() {{.*}} : memref<1xf32>
// CHECK-NOT: memref.alloca
// CHECK: scf.for
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
module attributes {rt.num_results = 1 : i64} {
  func.func @kept(%n: index, %x: memref<8x16xf32>, %result: memref<8x16xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %kept = memref.alloc() : memref<8x16xf32>
    scf.for %i = %c0 to %n step %c1 {
      %new = memref.alloc() : memref<8x16xf32>
      %first = arith.cmpi eq, %i, %c0 : index
      linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
          ins(%x : memref<8x16xf32>) outs(%kept : memref<8x16xf32>) {
      ^bb0(%p: f32, %o: f32):
        %s = arith.select %first, %p, %o : f32
        linalg.yield %s : f32
      }
      linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
          ins(%kept : memref<8x16xf32>) outs(%new : memref<8x16xf32>) {
      ^bb0(%p: f32, %o: f32):
        %s = arith.addf %p, %p : f32
        linalg.yield %s : f32
      }
      linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
          ins(%new : memref<8x16xf32>) outs(%result : memref<8x16xf32>) {
      ^bb0(%p: f32, %o: f32):
        %s = arith.mulf %p, %p : f32
        linalg.yield %s : f32
      }
    }
    return
  }
}

// -----

// Where a loop walks backwards, an address on the way may be negative: no promise of unsigned arithmetic.
// CHECK-LABEL: func.func @backwards
// CHECK-LABEL: func.func private @kernel_0
// CHECK: %[[BACK:.*]] = arith.muli %{{.*}}, %c-16{{.*}} overflow<nsw> : index
// CHECK: arith.addi %[[BACK]], %{{.*}} overflow<nsw> : index
// CHECK: memref.load
// CHECK: overflow<nsw, nuw>
// CHECK: memref.store
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
module attributes {rt.num_results = 1 : i64} {
  func.func @backwards(%c: i1, %x: memref<8x16xf32>, %result: memref<8x16xf32>) {
    linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (7 - d0, d1)>, #id],
                    iterator_types = ["parallel", "parallel"]}
        ins(%x : memref<8x16xf32>) outs(%result : memref<8x16xf32>) {
    ^bb0(%p: f32, %o: f32):
      %s = arith.mulf %p, %p : f32
      linalg.yield %s : f32
    }
    return
  }
}

// -----

// A check of the status words reads what kernels before it have stored there: nothing moves past it.
// CHECK-LABEL: func.func @check
// CHECK: call @kernel_0
// CHECK: rt.check
// CHECK: call @kernel_0
module attributes {rt.num_results = 1 : i64} {
  func.func @check(%x: memref<8x16xf32>, %result: memref<8x16xf32>) {
    %a = memref.alloc() : memref<8x16xf32>
    memref.copy %x, %a : memref<8x16xf32> to memref<8x16xf32>
    rt.check
    memref.copy %a, %result : memref<8x16xf32> to memref<8x16xf32>
    return
  }
}
