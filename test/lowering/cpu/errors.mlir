// RUN: dist-opt %s --dist-lower-cpu --split-input-file --verify-diagnostics

// expected-error @below {{result #0 has type 'tensor<?xf32>'; results must be tensors of static shape}}
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}

// -----
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'func.call' op is left after inlining: functions that call themselves, or have no body, are not compiled}}
  %0 = call @outside(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @outside(tensor<4xf32>) -> tensor<4xf32>
