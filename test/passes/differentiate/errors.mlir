// RUN: dist-opt %s -split-input-file -verify-diagnostics --dist-differentiate

// expected-error @below {{differentiates a result of type 'tensor<4xf32>', which is no single number: cotangent=NAME adds an input that gives its cotangent}}
func.func @main(%w: tensor<4xf32> {dist.parameter = "w"}) -> (tensor<4xf32> {dist.output = "y"}) {
  return %w : tensor<4xf32>
}

// -----

// expected-error @below {{has no parameter of floats to differentiate with respect to: name inputs with wrt=}}
func.func @main(%w: tensor<f32> {dist.input = "w"}) -> (tensor<f32> {dist.output = "y"}) {
  return %w : tensor<f32>
}

// -----

// expected-error @below {{has 2 results of floats: of=NAME says which is differentiated}}
func.func @main(%w: tensor<f32> {dist.parameter = "w"}) -> (tensor<f32> {dist.output = "y"}, tensor<f32> {dist.output = "z"}) {
  return %w, %w : tensor<f32>, tensor<f32>
}

// -----

func.func private @f(tensor<f32>) -> tensor<f32>
func.func @main(%w: tensor<f32> {dist.parameter = "w"}) -> (tensor<f32> {dist.output = "y"}) {
  // expected-error @below {{'func.call' op has no derivative that is known (2 such ops, this is the first): its dialect can implement DifferentiableOpInterface, or wrt= leave out what goes through it}}
  %0 = func.call @f(%w) : (tensor<f32>) -> tensor<f32>
  %1 = func.call @f(%0) : (tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

func.func @main(%w: tensor<4xf32> {dist.parameter = "w"}) -> (tensor<f32> {dist.output = "y"}) {
  %one = arith.constant dense<1.0> : tensor<f32>
  // expected-error @below {{accumulates in a way of which the derivative is not known: it is of sums, maxima and minima, and of products that are under no condition}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%w : tensor<4xf32>) outs(%one : tensor<f32>) {
  ^bb0(%x: f32, %p: f32):
    %q = arith.subf %x, %p : f32
    linalg.yield %q : f32
  } -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// A parameter that the result does not depend on.

// expected-warning @below {{does not depend on 'v': its gradient is zero}}
func.func @main(%w: tensor<f32> {dist.parameter = "w"}, %v: tensor<4xf32> {dist.parameter = "v"}) -> (tensor<f32> {dist.output = "y"}) {
  return %w : tensor<f32>
}

// -----

func.func @main(%w: tensor<f32> {dist.parameter = "w"}, %n: index {dist.input = "n"}) -> (tensor<f32> {dist.output = "y"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @below {{has a gradient only where the number of its rounds is known: its bounds and its step are to be constants}}
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%x = %w) -> (tensor<f32>) {
    %0 = arith.mulf %x, %w : tensor<f32>
    scf.yield %0 : tensor<f32>
  }
  return %y : tensor<f32>
}

// -----

// expected-error @below {{calls itself: such a function has no gradient}}
func.func private @f(%x: tensor<f32>) -> tensor<f32> {
  %0 = func.call @f(%x) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func @main(%w: tensor<f32> {dist.parameter = "w"}) -> (tensor<f32> {dist.output = "y"}) {
  %0 = func.call @f(%w) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
