// From when to when a buffer is in use, under all its names: buffers that are in use together lie apart.
//
// RUN: dist-opt %s --dist-plan-memory --split-input-file --verify-diagnostics | FileCheck %s

// One after the other: one place.
// CHECK: module attributes {rt.arena_bytes = 64 : i64, rt.live_bytes = 64 : i64}
// CHECK-LABEL: func.func @sequence
func.func @sequence(%x: memref<16xf32>) {
  %a = memref.alloc() : memref<16xf32>
  memref.copy %x, %a : memref<16xf32> to memref<16xf32>
  memref.copy %a, %x : memref<16xf32> to memref<16xf32>
  %b = memref.alloc() : memref<16xf32>
  memref.copy %x, %b : memref<16xf32> to memref<16xf32>
  memref.copy %b, %x : memref<16xf32> to memref<16xf32>
  return
}

// -----

// What a branch yields is read in a loop: nothing that the loop makes may lie there, also not after the read. (Once the
// first iteration wrote over it.)
// CHECK: rt.arena_bytes = 128 : i64
// CHECK-LABEL: func.func @read_in_loop
func.func @read_in_loop(%c: i1, %n: index, %x: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.if %c -> memref<16xf32> {
    %a = memref.alloc() : memref<16xf32>
    memref.copy %x, %a : memref<16xf32> to memref<16xf32>
    scf.yield %a : memref<16xf32>
  } else {
    scf.yield %x : memref<16xf32>
  }
  scf.for %i = %c0 to %n step %c1 {
    memref.copy %r, %x : memref<16xf32> to memref<16xf32>
    %b = memref.alloc() : memref<16xf32>
    memref.copy %x, %b : memref<16xf32> to memref<16xf32>
    memref.copy %b, %x : memref<16xf32> to memref<16xf32>
  }
  return
}

// -----

// A select's result is both buffers; a view of it, too.
// CHECK: rt.arena_bytes = 192 : i64
// CHECK-LABEL: func.func @selected
func.func @selected(%c: i1, %x: memref<16xf32>, %y: memref<8xf32>) {
  %a = memref.alloc() : memref<16xf32>
  %b = memref.alloc() : memref<16xf32>
  memref.copy %x, %a : memref<16xf32> to memref<16xf32>
  memref.copy %x, %b : memref<16xf32> to memref<16xf32>
  %r = arith.select %c, %a, %b : memref<16xf32>
  %s = memref.subview %r[8] [8] [1] : memref<16xf32> to memref<8xf32, strided<[1], offset: 8>>
  %d = memref.alloc() : memref<16xf32>
  memref.copy %x, %d : memref<16xf32> to memref<16xf32>
  memref.copy %d, %x : memref<16xf32> to memref<16xf32>
  memref.copy %s, %y : memref<8xf32, strided<[1], offset: 8>> to memref<8xf32>
  return
}

// -----

// In which order blocks run is not known: what is used in one of several is in use in all of them.
// CHECK: rt.arena_bytes = 192 : i64
// CHECK-LABEL: func.func @blocks
func.func @blocks(%c: i1, %x: memref<16xf32>) {
  %r = scf.execute_region -> memref<16xf32> {
    %a = memref.alloc() : memref<16xf32>
    cf.cond_br %c, ^one, ^two
  ^last(%y: memref<16xf32>):
    scf.yield %y : memref<16xf32>
  ^one:
    memref.copy %x, %a : memref<16xf32> to memref<16xf32>
    cf.br ^last(%a : memref<16xf32>)
  ^two:
    %b = memref.alloc() : memref<16xf32>
    %d = memref.alloc() : memref<16xf32>
    memref.copy %x, %b : memref<16xf32> to memref<16xf32>
    memref.copy %b, %d : memref<16xf32> to memref<16xf32>
    cf.br ^last(%d : memref<16xf32>)
  }
  memref.copy %r, %x : memref<16xf32> to memref<16xf32>
  return
}

// -----

// Blocks may be a loop: what one of them reads again is in use until the loop ends.
// CHECK: rt.arena_bytes = 128 : i64
// CHECK-LABEL: func.func @read_in_blocks
func.func @read_in_blocks(%c: i1, %x: memref<16xf32>) {
  scf.execute_region {
    %a = memref.alloc() : memref<16xf32>
    memref.copy %x, %a : memref<16xf32> to memref<16xf32>
    cf.br ^loop
  ^loop:
    memref.copy %a, %x : memref<16xf32> to memref<16xf32>
    %b = memref.alloc() : memref<16xf32>
    memref.copy %x, %b : memref<16xf32> to memref<16xf32>
    memref.copy %b, %x : memref<16xf32> to memref<16xf32>
    cf.cond_br %c, ^loop, ^end
  ^end:
    scf.yield
  }
  return
}

// -----

// A buffer that a later turn still needs while this one makes its own: of each there is one place only.
func.func @handed_on(%n: index, %x: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%p = %x) -> memref<16xf32> {
    // expected-error @below {{'memref.alloc' op of 'memref<16xf32>' is handed from one iteration of a loop to the next, which must be computed in place}}
    %a = memref.alloc() : memref<16xf32>
    memref.copy %p, %a : memref<16xf32> to memref<16xf32>
    scf.yield %a : memref<16xf32>
  }
  memref.copy %r, %x : memref<16xf32> to memref<16xf32>
  return
}

// -----

// Also through a select, and between blocks.
func.func @handed_on_by_blocks(%c: i1, %x: memref<16xf32>) {
  scf.execute_region {
    cf.br ^loop(%x : memref<16xf32>)
  ^body:
    // expected-error @below {{'memref.alloc' op of 'memref<16xf32>' is handed from one iteration of a loop to the next, which must be computed in place}}
    %a = memref.alloc() : memref<16xf32>
    memref.copy %p, %a : memref<16xf32> to memref<16xf32>
    %s = arith.select %c, %a, %p : memref<16xf32>
    cf.br ^loop(%s : memref<16xf32>)
  ^loop(%p: memref<16xf32>):
    cf.cond_br %c, ^body, ^end
  ^end:
    memref.copy %p, %x : memref<16xf32> to memref<16xf32>
    scf.yield
  }
  return
}

// -----

// An op that nothing is known of may hand on what it takes.
// CHECK: rt.arena_bytes = 128 : i64
// CHECK-LABEL: func.func @unknown
func.func @unknown(%x: memref<16xf32>) {
  %a = memref.alloc() : memref<16xf32>
  memref.copy %x, %a : memref<16xf32> to memref<16xf32>
  %r = builtin.unrealized_conversion_cast %a : memref<16xf32> to memref<16xf32>
  %b = memref.alloc() : memref<16xf32>
  memref.copy %x, %b : memref<16xf32> to memref<16xf32>
  memref.copy %b, %x : memref<16xf32> to memref<16xf32>
  memref.copy %r, %x : memref<16xf32> to memref<16xf32>
  return
}
