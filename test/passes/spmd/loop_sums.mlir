// RUN: dist-opt %s --dist-spmd | FileCheck %s
// RUN: dist-run %s --random --verify %{opt} | FileCheck %s --check-prefix=RESULT

// A sum that begins with zeros and grows by what devices have of it is carried pending, and completed after the loop.
// One that begins otherwise, or that the loop reads besides, is completed in each round.

// CHECK-LABEL: func.func @main
// CHECK: %[[R:.*]]:3 = scf.for
// CHECK: dist.all_reduce
// CHECK: dist.all_reduce
// CHECK-NOT: dist.all_reduce
// CHECK: scf.yield
// CHECK: dist.all_reduce %[[R]]#0
// CHECK-NOT: dist.all_reduce
// CHECK: return

// RESULT: sum: equal to the program on one rank
// RESULT: begun: equal to the program on one rank
// RESULT: read: equal to the program on one rank

dist.mesh @m ["x" = 2]
#row = affine_map<(i, j) -> (i, j)>
#sum = affine_map<(i, j) -> (j)>

func.func @main(%a: tensor<5x8x4xf32> {dist.input = "a", dist.sharding = #dist.sharding<@m, [{}, {"x"}, {}]>},
                %b: tensor<4xf32> {dist.input = "b"})
    -> (tensor<4xf32> {dist.output = "sum"}, tensor<4xf32> {dist.output = "begun"}, tensor<4xf32> {dist.output = "read"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  %0:3 = scf.for %k = %c0 to %c5 step %c1 iter_args(%s = %zero, %t = %b, %u = %zero) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %part = tensor.extract_slice %a[%k, 0, 0] [1, 8, 4] [1, 1, 1] : tensor<5x8x4xf32> to tensor<8x4xf32>
    %one = linalg.generic {indexing_maps = [#row, #sum], iterator_types = ["reduction", "parallel"]}
        ins(%part : tensor<8x4xf32>) outs(%zero : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %5 = arith.addf %in, %out : f32
      linalg.yield %5 : f32
    } -> tensor<4xf32>
    %two = linalg.generic {indexing_maps = [#row, #sum], iterator_types = ["reduction", "parallel"]}
        ins(%part : tensor<8x4xf32>) outs(%zero : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %6 = arith.mulf %in, %in : f32
      %5 = arith.addf %6, %out : f32
      linalg.yield %5 : f32
    } -> tensor<4xf32>
    %three = linalg.generic {indexing_maps = [#row, #sum], iterator_types = ["reduction", "parallel"]}
        ins(%part : tensor<8x4xf32>) outs(%zero : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %6 = math.absf %in : f32
      %5 = arith.addf %6, %out : f32
      linalg.yield %5 : f32
    } -> tensor<4xf32>
    %s1 = linalg.add ins(%s, %one : tensor<4xf32>, tensor<4xf32>) outs(%zero : tensor<4xf32>) -> tensor<4xf32>
    %t1 = linalg.add ins(%t, %two : tensor<4xf32>, tensor<4xf32>) outs(%zero : tensor<4xf32>) -> tensor<4xf32>
    %u1 = linalg.add ins(%u, %three : tensor<4xf32>, tensor<4xf32>) outs(%zero : tensor<4xf32>) -> tensor<4xf32>
    %u2 = linalg.exp ins(%u : tensor<4xf32>) outs(%zero : tensor<4xf32>) -> tensor<4xf32>
    %u3 = linalg.min ins(%u1, %u2 : tensor<4xf32>, tensor<4xf32>) outs(%zero : tensor<4xf32>) -> tensor<4xf32>
    scf.yield %s1, %t1, %u3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  return %0#0, %0#1, %0#2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
