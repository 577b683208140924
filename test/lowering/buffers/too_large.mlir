// Sizes in bytes that no processor can address are errors at the op. (More elements than 2^46 are before.)
//
// RUN: dist-opt %s --dist-bufferize --split-input-file --verify-diagnostics

func.func @result(%x: tensor<f32>) -> tensor<70368744177664xf32> {
  // expected-error @below {{has a result of type 'tensor<70368744177664xf32>', which is larger than what a processor can address}}
  %e = tensor.empty() : tensor<70368744177664xf32>
  %r = linalg.broadcast ins(%x : tensor<f32>) outs(%e : tensor<70368744177664xf32>) dimensions = [0]
  return %r : tensor<70368744177664xf32>
}

// -----

// expected-error @below {{has an argument of type 'tensor<1048576x1048576x64xf32>', which is larger than what a processor can address}}
func.func @argument(%x: tensor<1048576x1048576x64xf32>) -> tensor<1048576x1048576x64xf32> {
  return %x : tensor<1048576x1048576x64xf32>
}

// -----

func.func @empty(%x: tensor<1048576x0x1048576x1048576xf32>) -> tensor<1048576x0x1048576x1048576xf32> {
  return %x : tensor<1048576x0x1048576x1048576xf32>
}
