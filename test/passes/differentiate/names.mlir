// RUN: not dist-opt %s --dist-differentiate="wrt=fc.wieght" 2>&1 | FileCheck %s --check-prefix=NEAR
// RUN: not dist-opt %s --dist-differentiate="wrt=idz" 2>&1 | FileCheck %s --check-prefix=FLOATS
// RUN: not dist-opt %s --dist-differentiate="wrt=idz" --mlir-print-op-on-diagnostic 2>&1 | FileCheck %s --check-prefix=ASKED
// RUN: not dist-opt %s --dist-differentiate="wrt=ids" 2>&1 | FileCheck %s --check-prefix=TYPE
// RUN: not dist-opt %s --dist-differentiate="of=los" 2>&1 | FileCheck %s --check-prefix=RESULT
// RUN: not dist-opt %s --dist-differentiate="cotangent=ids" 2>&1 | FileCheck %s --check-prefix=TAKEN
// RUN: not dist-opt %s --dist-differentiate="cotangent=dy,wrt=ids" 2>&1 | FileCheck %s --check-prefix=COMMA
// COMMA: error: cotangent=dy,wrt=ids is no name of an input: options are separated by spaces
// RUN: not dist-opt %s --dist-differentiate="function=f" 2>&1 | FileCheck %s --check-prefix=FUNCTION

// NEAR: names.mlir:21:1: error: wrt=fc.wieght matches no parameter or input of floats; did you mean 'fc.weight'?
// What has no derivative is not meant; an op is printed if that is asked for.
// FLOATS: error: wrt=idz matches no parameter or input of floats{{$}}
// FLOATS-NOT: see current operation
// ASKED: note: see current operation
// TYPE: names.mlir:21:1: error: wrt=ids is of type 'tensor<4xi64>', which has no derivative: it is of floats
// RESULT: names.mlir:21:1: error: of=los is no result; did you mean 'loss'?
// TAKEN: names.mlir:21:1: error: cotangent=ids is an input or a parameter already
// FUNCTION: error: has no function @f

func.func @main(%w: tensor<f32> {dist.parameter = "fc.weight"}, %ids: tensor<4xi64> {dist.input = "ids"}) -> (tensor<f32> {dist.output = "loss"}) {
  return %w : tensor<f32>
}
