// Sizes in bytes that no processor can address, or that are no 64-bit number, are errors at the op.
//
// RUN: dist-opt %s --dist-bufferize --split-input-file --verify-diagnostics

func.func @wraps_to_nothing(%x: tensor<f32>) -> tensor<4611686018427387904xf32> {
  // expected-error @below {{has a result of type 'tensor<4611686018427387904xf32>', which is larger than what a processor can address}}
  %e = tensor.empty() : tensor<4611686018427387904xf32>
  %r = linalg.broadcast ins(%x : tensor<f32>) outs(%e : tensor<4611686018427387904xf32>) dimensions = [0]
  return %r : tensor<4611686018427387904xf32>
}

// -----

// expected-error @below {{has an argument of type 'tensor<1048576x1048576x1024xf32>', which is larger than what a processor can address}}
func.func @argument(%x: tensor<1048576x1048576x1024xf32>) -> tensor<1048576x1048576x1024xf32> {
  return %x : tensor<1048576x1048576x1024xf32>
}

// -----

func.func @empty(%x: tensor<1048576x0x1048576x1048576xf32>) -> tensor<1048576x0x1048576x1048576xf32> {
  return %x : tensor<1048576x0x1048576x1048576xf32>
}
