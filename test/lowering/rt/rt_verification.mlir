// What the ops of the rt dialect refuse.
// RUN: dist-opt %s --split-input-file --verify-diagnostics

// All collectives.

func.func @f(%a: memref<4x4xf32, strided<[8, 1]>>) {
  // expected-error@below {{operand of type 'memref<4x4xf32, strided<[8, 1]>>' is not contiguous}}
  rt.broadcast comm 0 site 0 root 0 ins(%a : memref<4x4xf32, strided<[8, 1]>>) outs(%a : memref<4x4xf32, strided<[8, 1]>>)
  return
}

// -----

func.func @f(%a: memref<?xf32>) {
  // expected-error@below {{operand of type 'memref<?xf32>' has no static shape}}
  rt.broadcast comm 0 site 0 root 0 ins(%a : memref<?xf32>) outs(%a : memref<?xf32>)
  return
}

// -----

func.func @f(%a: memref<4xi128>) {
  // expected-error@below {{the runtime has no element type 'i128'}}
  rt.broadcast comm 0 site 0 root 0 ins(%a : memref<4xi128>) outs(%a : memref<4xi128>)
  return
}

// -----

func.func @f(%a: memref<4xf32>, %b: memref<4xi32>) {
  // expected-error@below {{operand has elements of type 'f32', destination of 'i32'}}
  rt.broadcast comm 0 site 0 root 0 ins(%a : memref<4xf32>) outs(%b : memref<4xi32>)
  return
}

// -----

func.func @f(%a: memref<4xf32>) {
  // expected-error@below {{attribute 'stream' failed to satisfy constraint}}
  rt.broadcast comm 0 site 0 stream 16 root 0 ins(%a : memref<4xf32>) outs(%a : memref<4xf32>)
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error@below {{expected the number of tensor results (0) to be equal to the number of output tensors (1)}}
  rt.broadcast comm 0 site 0 root 0 ins(%a : tensor<4xf32>) outs(%a : tensor<4xf32>)
  return
}

// -----

// Each.

func.func @f(%a: memref<4xf32>, %b: memref<5xf32>) {
  // expected-error@below {{destination has 5 elements, but 4 are wanted}}
  rt.all_reduce comm 0 site 0 <sum> ins(%a : memref<4xf32>) outs(%b : memref<5xf32>)
  return
}

// -----

func.func @f(%a: memref<4xf32>) {
  // expected-error@below {{or is not defined on 'f32'}}
  rt.all_reduce comm 0 site 0 <or> ins(%a : memref<4xf32>) outs(%a : memref<4xf32>)
  return
}

// -----

func.func @f(%a: memref<2x3xf32>, %b: memref<2x12xf32>) {
  // expected-error@below {{destination has 24 elements, but 26 are wanted}}
  rt.all_gather comm 0 site 0 outer 2 whole 13 inner 1 ins(%a : memref<2x3xf32>) outs(%b : memref<2x12xf32>)
  return
}

// -----

func.func @f(%a: memref<5xf32>, %b: memref<2x8xf32>) {
  // expected-error@below {{operand has 5 elements, which is no block of [2, 8, 1]}}
  rt.all_gather comm 0 site 0 outer 2 whole 8 inner 1 ins(%a : memref<5xf32>) outs(%b : memref<2x8xf32>)
  return
}

// -----

func.func @f(%a: memref<2x8xf32>, %b: memref<2x9xf32>) {
  // expected-error@below {{destination has 18 elements, which is no block of [2, 8, 1]}}
  rt.reduce_scatter comm 0 site 0 <sum> outer 2 whole 8 inner 1 ins(%a : memref<2x8xf32>) outs(%b : memref<2x9xf32>)
  return
}

// -----

func.func @f(%a: memref<8x2xf32>, %b: memref<3x4xf32>) {
  // expected-error@below {{destination has 12 elements, which is no block of [8, 8, 1]}}
  rt.all_to_all comm 0 site 0 split_first outer 1 split_whole 8 middle 1 concat_whole 8 inner 1
      ins(%a : memref<8x2xf32>) outs(%b : memref<3x4xf32>)
  return
}

// -----

func.func @f(%a: memref<4xf32>) {
  // expected-error@below {{pairs holds sources and targets, 3 integers given}}
  rt.collective_permute comm 0 site 0 pairs [0, 1, 2] ins(%a : memref<4xf32>) outs(%a : memref<4xf32>)
  return
}

// -----

func.func @f(%a: memref<4xf32>) {
  // expected-error@below {{target 1 occurs twice in the pairs}}
  rt.collective_permute comm 0 site 0 pairs [0, 1, 2, 1] ins(%a : memref<4xf32>) outs(%a : memref<4xf32>)
  return
}

// -----

func.func @f(%a: memref<4xf32>, %b: memref<4xf32>) {
  // expected-error@below {{destination has 4 elements, but 6 are wanted}}
  rt.halo_exchange comm 0 site 0 outer 1 whole 8 inner 1 low 1 high 1 ins(%a : memref<4xf32>) outs(%b : memref<4xf32>)
  return
}

// -----

func.func @f(%a: memref<4xf32>, %b: memref<4xf32>) {
  // expected-error@below {{operand has 4 elements, but 6 are wanted}}
  rt.halo_reduce comm 0 site 0 outer 1 whole 8 inner 1 low 1 high 1 ins(%a : memref<4xf32>) outs(%b : memref<4xf32>)
  return
}

// -----

// Rows that indices name.

func.func @f(%i: memref<3x1xi64>) {
  // expected-error@below {{indices of type 'memref<3x1xi64>'; one dimension of index or i64 is wanted}}
  %p = rt.plan_rows comm 0 site 0 whole 8 indices(%i : memref<3x1xi64>)
  return
}

// -----

func.func @f(%i: memref<3xi32>) {
  // expected-error@below {{indices of type 'memref<3xi32>'; one dimension of index or i64 is wanted}}
  %p = rt.plan_rows comm 0 site 0 whole 8 indices(%i : memref<3xi32>)
  return
}

// -----

func.func @f(%i: memref<3xi64>, %a: memref<4x2xf32>, %b: memref<3x2xf32>) {
  %p = rt.plan_rows comm 0 site 0 whole 8 indices(%i : memref<3xi64>)
  // expected-error@below {{has a plan for communicator 0 and 8 rows}}
  rt.gather_rows comm 1 site 0 plan %p outer 1 whole 8 inner 2 ins(%a : memref<4x2xf32>) outs(%b : memref<3x2xf32>)
  return
}

// -----

func.func @f(%i: memref<3xi64>, %a: memref<4x2xf32>, %b: memref<4x2xf32>) {
  %p = rt.plan_rows comm 0 site 0 whole 8 indices(%i : memref<3xi64>)
  // expected-error@below {{destination has 8 elements, but 6 are wanted}}
  rt.gather_rows comm 0 site 0 plan %p outer 1 whole 8 inner 2 ins(%a : memref<4x2xf32>) outs(%b : memref<4x2xf32>)
  return
}

// -----

func.func @f(%i: memref<3xi64>, %a: memref<4x2xf32>, %b: memref<4x2xf32>) {
  %p = rt.plan_rows comm 0 site 0 whole 8 indices(%i : memref<3xi64>)
  // expected-error@below {{operand has 8 elements, but 6 are wanted}}
  rt.reduce_rows comm 0 site 0 plan %p outer 1 whole 8 inner 2 ins(%a : memref<4x2xf32>) outs(%b : memref<4x2xf32>)
  return
}

// -----

// Contractions.

func.func @f(%a: memref<4xf64>, %c: memref<4xf64>) {
  // expected-error@below {{does not multiply 'f64' to 'f64': f32 to f32, bf16 to bf16 and bf16 to f32 are known}}
  rt.contract ins(%a, %a : memref<4xf64>, memref<4xf64>) outs(%c : memref<4xf64>) loops []
  return
}

// -----

func.func @f(%a: memref<4x8xf32>, %b: memref<8x2xf32>, %c: memref<4x2xf32>) {
  // expected-error@below {{the loops reach element 32 of a, whose type is 'memref<4x8xf32>'}}
  rt.contract ins(%a, %b : memref<4x8xf32>, memref<8x2xf32>) outs(%c : memref<4x2xf32>)
      loops [#rt.loop<m 5 a 8 b 0 c 2>]
  return
}

// -----

func.func @f(%a: memref<4x8xf32>, %b: memref<8x2xf32>, %c: memref<4x2xf32>) {
  rt.contract ins(%a, %b : memref<4x8xf32>, memref<8x2xf32>) outs(%c : memref<4x2xf32>)
      // expected-error@below {{a loop of kind k has a stride in the operand that does not depend on it}}
      loops [#rt.loop<k 4 a 1 b 2 c 1>]
  return
}

// -----

// What is started is waited for, once and in its own block.

func.func @f(%a: memref<4xf32>, %b: memref<4xf32>) {
  // expected-error@below {{has a token that is not used by one rt.wait alone}}
  %t = rt.all_reduce comm 0 site 0 stream 1 <sum> ins(%a : memref<4xf32>) outs(%b : memref<4xf32>) -> !rt.token
  return
}

// -----

func.func @f(%a: memref<4xf32>, %b: memref<4xf32>) {
  // expected-error@below {{is started on stream 0, which computes; another stream is wanted}}
  %t = rt.all_reduce comm 0 site 0 <sum> ins(%a : memref<4xf32>) outs(%b : memref<4xf32>) -> !rt.token
  rt.wait %t reads(%a : memref<4xf32>) outs(%b : memref<4xf32>)
  return
}

// -----

func.func @f(%a: memref<4xf32>, %b: memref<4xf32>) {
  // expected-note@below {{which starts here}}
  %t = rt.all_reduce comm 0 site 0 stream 1 <sum> ins(%a : memref<4xf32>) outs(%b : memref<4xf32>) -> !rt.token
  // expected-error@below {{what it reads is not that of the collective}}
  rt.wait %t reads(%b : memref<4xf32>) outs(%b : memref<4xf32>)
  return
}

// -----

func.func @f(%a: memref<4xf32>, %b: memref<4xf32>) {
  // expected-note@below {{which starts here}}
  %t = rt.all_reduce comm 0 site 0 stream 1 <sum> ins(%a : memref<4xf32>) outs(%b : memref<4xf32>) -> !rt.token
  // expected-error@below {{what it writes is not that of the collective}}
  rt.wait %t reads(%a : memref<4xf32>) outs(%a : memref<4xf32>)
  return
}

// -----

func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // expected-error@below {{has a result in flight that is used elsewhere than in its rt.wait}}
  %r, %t = rt.all_reduce comm 0 site 0 stream 1 <sum> ins(%a : tensor<4xf32>) outs(%b : tensor<4xf32>) -> tensor<4xf32>, !rt.token
  %w = rt.wait %t reads(%a : tensor<4xf32>) outs(%r : tensor<4xf32>) -> tensor<4xf32>
  return %r, %w : tensor<4xf32>, tensor<4xf32>
}

// -----

func.func @f(%a: memref<4xf32>, %b: memref<4xf32>, %c: i1) {
  %t = rt.all_reduce comm 0 site 0 stream 1 <sum> ins(%a : memref<4xf32>) outs(%b : memref<4xf32>) -> !rt.token
  scf.if %c {
    // expected-error@below {{waits for no collective of its own block}}
    rt.wait %t reads(%a : memref<4xf32>) outs(%b : memref<4xf32>)
  }
  return
}

// -----

func.func @f(%a: memref<4xf32>, %b: memref<4xf32>) {
  // expected-error@below {{has results other than a tensor and a token}}
  %t:2 = rt.all_reduce comm 0 site 0 stream 1 <sum> ins(%a : memref<4xf32>) outs(%b : memref<4xf32>) -> !rt.token, !rt.token
  return
}

// -----

// Convolutions.

func.func @f(%x: memref<1x2x8xf64>, %w: memref<4x2x3xf64>, %y: memref<1x4x6xf64>) {
  // expected-error@below {{has an operand of 'f64'; f32 is known}}
  rt.convolve ins(%x, %w : memref<1x2x8xf64>, memref<4x2x3xf64>) outs(%y : memref<1x4x6xf64>) batch [0, 0] group [] channel [1, 1] feature [0, 1]
      windows [#rt.window<image 2 kernel 2 out 2 stride 1 dilation 1 low 0>]
  return
}

// -----

func.func @f(%x: memref<1x2x8xf32>, %w: memref<4x3x3xf32>, %y: memref<1x4x6xf32>) {
  // expected-error@below {{channel is 2 and 3}}
  rt.convolve ins(%x, %w : memref<1x2x8xf32>, memref<4x3x3xf32>) outs(%y : memref<1x4x6xf32>) batch [0, 0] group [] channel [1, 1] feature [0, 1]
      windows [#rt.window<image 2 kernel 2 out 2 stride 1 dilation 1 low 0>]
  return
}

// -----

func.func @f(%x: memref<1x2x8xf32>, %w: memref<4x2x3xf32>, %y: memref<1x4x6xf32>) {
  // expected-error@below {{each of the 3 dimensions of the image must be named once}}
  rt.convolve ins(%x, %w : memref<1x2x8xf32>, memref<4x2x3xf32>) outs(%y : memref<1x4x6xf32>) batch [] group [] channel [1, 1] feature [0, 1]
      windows [#rt.window<image 2 kernel 2 out 2 stride 1 dilation 1 low 0>]
  return
}

// -----

func.func @f(%x: memref<1x2x8xf32>, %w: memref<4x2x3xf32>, %b: memref<3xf32>, %y: memref<1x4x6xf32>) {
  // expected-error@below {{bias has 3 elements, but 4 are wanted}}
  rt.convolve ins(%x, %w : memref<1x2x8xf32>, memref<4x2x3xf32>) bias(%b : memref<3xf32>) outs(%y : memref<1x4x6xf32>) batch [0, 0] group [] channel [1, 1] feature [0, 1]
      windows [#rt.window<image 2 kernel 2 out 2 stride 1 dilation 1 low 0>]
  return
}

// -----

func.func @f(%x: memref<1x2x8xf32>, %w: memref<4x2x3xf32>, %y: memref<1x4x6xf32>) {
  // expected-error@below {{clamp is no lower bound, other than -0, and an upper one that is not less, other than 0}}
  rt.convolve ins(%x, %w : memref<1x2x8xf32>, memref<4x2x3xf32>) outs(%y : memref<1x4x6xf32>) batch [0, 0] group [] channel [1, 1] feature [0, 1]
      windows [#rt.window<image 2 kernel 2 out 2 stride 1 dilation 1 low 0>] clamp [-0.0, 1.0]
  return
}

// -----

func.func @f(%x: memref<2x8xf32>, %w: memref<4x2xf32>, %y: memref<4x8xf32>) {
  // expected-error@below {{has 0 windows; 1 to 3 are known}}
  rt.convolve ins(%x, %w : memref<2x8xf32>, memref<4x2xf32>) outs(%y : memref<4x8xf32>) batch [] group [] channel [0, 1] feature [0, 0] windows []
  return
}

// -----

func.func @f(%x: memref<1x2x8xf32>, %w: memref<4x2x3xf32>, %y: memref<1x4x6xf32>) {
  rt.convolve ins(%x, %w : memref<1x2x8xf32>, memref<4x2x3xf32>) outs(%y : memref<1x4x6xf32>) batch [0, 0] group [] channel [1, 1] feature [0, 1]
      // expected-error@below {{a window has stride 0 and dilation 1; both must be at least 1}}
      windows [#rt.window<image 2 kernel 2 out 2 stride 0 dilation 1 low 0>]
  return
}

// -----

func.func @f(%s: tensor<3x4xf32>, %k: memref<4xi64>, %t: tensor<5x4xf32>) -> tensor<5x4xf32> {
  // expected-error@below {{they are all tensors or all buffers, of known sizes, and none is empty}}
  %0 = rt.scatter ins(%s, %k : tensor<3x4xf32>, memref<4xi64>) outs(%t : tensor<5x4xf32>) dims [0] batch 1 add -> tensor<5x4xf32>
  return %0 : tensor<5x4xf32>
}

// -----

func.func @f(%s: memref<3x4xcomplex<f32>>, %k: memref<4xi64>, %t: memref<5x4xcomplex<f32>>) {
  // expected-error@below {{both have the same numbers}}
  rt.scatter ins(%s, %k : memref<3x4xcomplex<f32>>, memref<4xi64>) outs(%t : memref<5x4xcomplex<f32>>) dims [0] batch 1 add
  return
}

// -----

func.func @f(%s: memref<3x4xf32>, %k: memref<4xi64>, %t: memref<5x4xf32>) {
  // expected-error@below {{has dimension 2, which 'memref<5x4xf32>' has not, or twice}}
  rt.scatter ins(%s, %k : memref<3x4xf32>, memref<4xi64>) outs(%t : memref<5x4xf32>) dims [2] batch 1
  return
}

// -----

func.func @f(%s: memref<3x4xf32>, %k: memref<4xi64>, %t: memref<5x6xf32>) {
  // expected-error@below {{has slices in 'memref<3x4xf32>' that are none of 'memref<5x6xf32>'}}
  rt.scatter ins(%s, %k : memref<3x4xf32>, memref<4xi64>) outs(%t : memref<5x6xf32>) dims [0] batch 1
  return
}

// -----

func.func @f(%s: memref<5x4xf32>, %k: memref<4xi64>, %t: memref<5x4xf32>) {
  // expected-error@below {{no fewer than the slices in 'memref<5x4xf32>'}}
  rt.scatter ins(%s, %k : memref<5x4xf32>, memref<4xi64>) outs(%t : memref<5x4xf32>) dims [0] batch 1
  return
}

// -----

func.func @f(%s: memref<3x4xf32>, %k: memref<4xi64>, %t: memref<5x4xf32>) {
  // expected-error@below {{has a batch of 3 dimensions}}
  rt.scatter ins(%s, %k : memref<3x4xf32>, memref<4xi64>) outs(%t : memref<5x4xf32>) dims [0] batch 3
  return
}

// -----

func.func @f(%s: tensor<3x4xf32>, %k: tensor<4xi64>, %t: tensor<5x4xf32>) {
  // expected-error@below {{has a result that is not its destination}}
  rt.scatter ins(%s, %k : tensor<3x4xf32>, tensor<4xi64>) outs(%t : tensor<5x4xf32>) dims [0] batch 1
  return
}
