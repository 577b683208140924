// RUN: dist-opt %s --dist-lower-cpu --split-input-file --verify-diagnostics

// expected-error @below {{result #0 has type 'tensor<?xf32>'; results must be tensors of static shape}}
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}
