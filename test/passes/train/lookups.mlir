// RUN: dist-opt %s "--dist-train-step=optimizer=sgd loss=mse of=y" | FileCheck %s
// RUN: dist-opt %s "--dist-train-step=optimizer=sgd loss=mse of=y accumulate=2" | FileCheck %s --check-prefix=LOOP

// What a step looks up is known of its inputs: ids from 0 on, ids that count from the end, the smaller of two tables. What is
// computed otherwise, and what the loss does not need, says nothing.

// CHECK: {dist.input = "ids", dist.range = array<i64: 0, 4>}
// CHECK-SAME: {dist.input = "fromEnd", dist.range = array<i64: -5, 4>}
// CHECK-SAME: {dist.input = "twice", dist.range = array<i64: 0, 4>}
// CHECK-SAME: {dist.input = "shifted"}
// CHECK-SAME: {dist.input = "dead"}

// LOOP: tensor<2x3xi64> {dist.input = "ids", dist.range = array<i64: 0, 4>}

#id = affine_map<(d0) -> (d0)>

func.func @main(%ids: tensor<3xi64> {dist.input = "ids"}, %fromEnd: tensor<3xi64> {dist.input = "fromEnd"},
                %twice: tensor<3xi64> {dist.input = "twice"}, %shifted: tensor<3xi64> {dist.input = "shifted"},
                %dead: tensor<3xi64> {dist.input = "dead"},
                %t: tensor<5x2xf32> {dist.parameter = "t"}, %u: tensor<7x2xf32> {dist.parameter = "u"})
    -> (tensor<3x2xf32> {dist.output = "y"}, tensor<3x2xf32> {dist.output = "z"}) {
  %zero = arith.constant 0 : i64
  %five = arith.constant 5 : i64
  %e = tensor.empty() : tensor<3xi64>
  %i0 = tensor.expand_shape %ids [[0, 1]] output_shape [3, 1] : tensor<3xi64> into tensor<3x1xi64>
  %a = tensor.gather %t[%i0] gather_dims([0]) : (tensor<5x2xf32>, tensor<3x1xi64>) -> tensor<3x2xf32>
  %w = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%fromEnd : tensor<3xi64>) outs(%e : tensor<3xi64>) {
  ^bb0(%x: i64, %o: i64):
    %n = arith.cmpi slt, %x, %zero : i64
    %s = arith.addi %x, %five : i64
    %r = arith.select %n, %s, %x : i64
    linalg.yield %r : i64
  } -> tensor<3xi64>
  %i1 = tensor.expand_shape %w [[0, 1]] output_shape [3, 1] : tensor<3xi64> into tensor<3x1xi64>
  %b = tensor.gather %t[%i1] gather_dims([0]) : (tensor<5x2xf32>, tensor<3x1xi64>) -> tensor<3x2xf32>
  %i2 = tensor.expand_shape %twice [[0, 1]] output_shape [3, 1] : tensor<3xi64> into tensor<3x1xi64>
  %c = tensor.gather %u[%i2] gather_dims([0]) : (tensor<7x2xf32>, tensor<3x1xi64>) -> tensor<3x2xf32>
  %d = tensor.gather %t[%i2] gather_dims([0]) : (tensor<5x2xf32>, tensor<3x1xi64>) -> tensor<3x2xf32>
  %v = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%shifted : tensor<3xi64>) outs(%e : tensor<3xi64>) {
  ^bb0(%x: i64, %o: i64):
    %s = arith.addi %x, %five : i64
    linalg.yield %s : i64
  } -> tensor<3xi64>
  %i3 = tensor.expand_shape %v [[0, 1]] output_shape [3, 1] : tensor<3xi64> into tensor<3x1xi64>
  %f = tensor.gather %t[%i3] gather_dims([0]) : (tensor<5x2xf32>, tensor<3x1xi64>) -> tensor<3x2xf32>
  %i4 = tensor.expand_shape %dead [[0, 1]] output_shape [3, 1] : tensor<3xi64> into tensor<3x1xi64>
  %g = tensor.gather %t[%i4] gather_dims([0]) : (tensor<5x2xf32>, tensor<3x1xi64>) -> tensor<3x2xf32>
  %y0 = arith.addf %a, %b : tensor<3x2xf32>
  %y1 = arith.addf %y0, %c : tensor<3x2xf32>
  %y2 = arith.addf %y1, %d : tensor<3x2xf32>
  %y3 = arith.addf %y2, %f : tensor<3x2xf32>
  return %y3, %g : tensor<3x2xf32>, tensor<3x2xf32>
}
