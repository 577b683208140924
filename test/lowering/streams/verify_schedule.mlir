// What is in flight is left alone, of buffers by the bytes of the arena; a communicator has one stream.
// RUN: dist-opt %s --dist-verify-schedule --split-input-file --verify-diagnostics

func.func private @reads(memref<4xf32> {llvm.readonly}, memref<4xf32>)

// Reads of the operand, and all of what else lies in the arena.
func.func @legal(%arena: memref<64xi8>, %x: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %a = memref.view %arena[%c0][] : memref<64xi8> to memref<4xf32>
  %b = memref.view %arena[%c16][] : memref<64xi8> to memref<4xf32>
  %c = memref.view %arena[%c32][] : memref<64xi8> to memref<4xf32>
  %t = rt.all_reduce comm 0 site 0 stream 1 <sum> ins(%a : memref<4xf32>) outs(%b : memref<4xf32>) -> !rt.token
  func.call @reads(%a, %c) : (memref<4xf32>, memref<4xf32>) -> ()
  memref.copy %x, %c : memref<4xf32> to memref<4xf32>
  rt.wait %t reads(%a : memref<4xf32>) outs(%b : memref<4xf32>)
  func.call @reads(%b, %a) : (memref<4xf32>, memref<4xf32>) -> ()
  rt.all_reduce comm 0 site 1 <sum> ins(%a : memref<4xf32>) outs(%c : memref<4xf32>)
  return
}

// -----

// A life that ends too early: the plan gives another buffer the operand's last bytes.
func.func @reused(%arena: memref<64xi8>, %x: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c12 = arith.constant 12 : index
  %c32 = arith.constant 32 : index
  %a = memref.view %arena[%c0][] : memref<64xi8> to memref<4xf32>
  %b = memref.view %arena[%c32][] : memref<64xi8> to memref<4xf32>
  %c = memref.view %arena[%c12][] : memref<64xi8> to memref<4xf32>
  // expected-note@below {{of the collective that starts here}}
  %t = rt.all_reduce comm 0 site 0 stream 1 <sum> ins(%a : memref<4xf32>) outs(%b : memref<4xf32>) -> !rt.token
  // expected-error@below {{may write the operand in flight}}
  memref.copy %x, %c : memref<4xf32> to memref<4xf32>
  rt.wait %t reads(%a : memref<4xf32>) outs(%b : memref<4xf32>)
  return
}

// -----

func.func private @reads(memref<4xf32> {llvm.readonly})

// A wait that comes too late.
func.func @early(%a: memref<4xf32>, %b: memref<4xf32>) {
  // expected-note@below {{of the collective that starts here}}
  %t = rt.all_reduce comm 0 site 0 stream 1 <sum> ins(%a : memref<4xf32>) outs(%b : memref<4xf32>) -> !rt.token
  // expected-error@below {{may read the result in flight}}
  func.call @reads(%b) : (memref<4xf32>) -> ()
  rt.wait %t reads(%a : memref<4xf32>) outs(%b : memref<4xf32>)
  return
}

// -----

// Within a region, through a view.
func.func @nested(%a: memref<4xf32>, %b: memref<4xf32>, %c: i1, %z: f32) {
  // expected-note@below {{of the collective that starts here}}
  %t = rt.all_reduce comm 0 site 0 stream 1 <sum> ins(%a : memref<4xf32>) outs(%b : memref<4xf32>) -> !rt.token
  // expected-error@below {{may write the result in flight}}
  scf.if %c {
    %v = memref.subview %b[0] [2] [1] : memref<4xf32> to memref<2xf32, strided<[1]>>
    linalg.fill ins(%z : f32) outs(%v : memref<2xf32, strided<[1]>>)
  }
  rt.wait %t reads(%a : memref<4xf32>) outs(%b : memref<4xf32>)
  return
}

// -----

// Two in flight: the second receives where the first reads.
func.func @two(%a: memref<4xf32>, %b: memref<4xf32>, %c: memref<4xf32>) {
  // expected-note@below {{of the collective that starts here}}
  %t = rt.all_reduce comm 0 site 0 stream 1 <sum> ins(%a : memref<4xf32>) outs(%b : memref<4xf32>) -> !rt.token
  // expected-error@below {{may write the operand in flight}}
  %u = rt.all_reduce comm 0 site 1 stream 1 <sum> ins(%c : memref<4xf32>) outs(%a : memref<4xf32>) -> !rt.token
  rt.wait %t reads(%a : memref<4xf32>) outs(%b : memref<4xf32>)
  rt.wait %u reads(%c : memref<4xf32>) outs(%a : memref<4xf32>)
  return
}

// -----

func.func @streams(%a: tensor<4xf32>, %d: tensor<4xf32>, %e: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // expected-note@below {{of the collective that starts here}}
  %r, %t = rt.all_reduce comm 0 site 0 stream 1 <sum> ins(%a : tensor<4xf32>) outs(%d : tensor<4xf32>) -> tensor<4xf32>, !rt.token
  %0 = rt.wait %t reads(%a : tensor<4xf32>) outs(%r : tensor<4xf32>) -> tensor<4xf32>
  // expected-error@below {{is on stream 2, but a communicator has one stream, that}}
  %s, %u = rt.all_reduce comm 0 site 1 stream 2 <sum> ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>, !rt.token
  %1 = rt.wait %u reads(%a : tensor<4xf32>) outs(%s : tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

dist.mesh @m ["tp" = 2, "dp" = 2]

// Level 4: another communicator may be used meanwhile, the same one not; a slice sends nothing.
func.func @synchronous(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2xf32>) {
  // expected-note@below {{of the collective that starts here}}
  %0 = dist.all_reduce %a sum over "tp" {dist.stream = 1 : i32} : tensor<4xf32>
  %1 = dist.all_reduce %a sum over "dp" : tensor<4xf32>
  %3 = dist.all_slice %a dim 0 over "tp" : tensor<4xf32> -> tensor<2xf32>
  // expected-error@below {{is done where it stands, while its communicator is in use on the stream}}
  %2 = dist.all_reduce %a max over "tp" : tensor<4xf32>
  return %0, %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2xf32>
}

// -----

dist.mesh @m ["x" = 2, "y" = 4]

// A permutation calls the communicator of all axes that it names, whole.
func.func @permutation(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // expected-note@below {{of the collective that starts here}}
  %0 = dist.collective_permute %a from "x" to "y"(1)2 {dist.stream = 1 : i32} : tensor<4xf32>
  %1 = dist.all_reduce %a sum over "x" : tensor<4xf32>
  // expected-error@below {{is done where it stands, while its communicator is in use on the stream}}
  %2 = dist.all_reduce %a sum over "x", "y" : tensor<4xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
