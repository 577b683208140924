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

// -----

// A constant of elements that no file of data can have.
dist.mesh @m ["x" = 2]
func.func @main() -> tensor<1xi128> {
  // expected-error @below {{cannot keep elements of type 'i128' in a file; convert the constant, or use it whole}}
  %c = dist.local_constant dense<[1, 2]> : tensor<2xi128> <@m, [{"x"}]> -> tensor<1xi128>
  return %c : tensor<1xi128>
}

// -----

dist.mesh @m ["x" = 2]
func.func @main() -> tensor<2xf32> {
  // expected-error @below {{has a resource of 4 bytes, but a constant of type 'tensor<4xf32>' takes 16}}
  %c = dist.local_constant dense_resource<short> : tensor<4xf32> <@m, [{"x"}]> -> tensor<2xf32>
  return %c : tensor<2xf32>
}
{-#
  dialect_resources: {
    builtin: {
      short: "0x040000000000803F"
    }
  }
#-}

// -----

func.func @main() -> tensor<3xi1> {
  // expected-error @below {{has a resource of 2 bytes, but a constant of type 'tensor<3xi1>' takes 3}}
  %c = arith.constant dense_resource<bits> : tensor<3xi1>
  return %c : tensor<3xi1>
}
{-#
  dialect_resources: {
    builtin: {
      bits: "0x010000000101"
    }
  }
#-}

// -----

// A function that calls itself cannot be inlined.
dist.mesh @m ["x" = 2]
func.func private @f(%x: tensor<2xf32>, %p: i1) -> tensor<2xf32> {
  // expected-error @below {{stands in a function that could not be inlined into the entry function}}
  %c = dist.local_constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32> <@m, [{"x"}]> -> tensor<2xf32>
  %0 = scf.if %p -> tensor<2xf32> {
    %1 = func.call @f(%c, %p) : (tensor<2xf32>, i1) -> tensor<2xf32>
    scf.yield %1 : tensor<2xf32>
  } else {
    scf.yield %x : tensor<2xf32>
  }
  return %0 : tensor<2xf32>
}
func.func @main(%x: tensor<2xf32>, %p: i1) -> tensor<2xf32> {
  %0 = call @f(%x, %p) : (tensor<2xf32>, i1) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
