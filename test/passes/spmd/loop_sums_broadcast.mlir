// RUN: dist-opt %s --dist-spmd | FileCheck %s
// RUN: dist-run %s --random --verify | FileCheck %s --check-prefix=RESULT

// What is pending becomes larger where a loop's sum takes it: one reduction of 20 numbers after the loop is no more than
// five of 4 in it; one of 256 is.

// CHECK: %[[R:.*]]:2 = scf.for
// CHECK: dist.all_reduce {{.*}} tensor<4xf32>
// CHECK-NOT: dist.all_reduce
// CHECK: scf.yield
// CHECK: dist.all_reduce %[[R]]#0 {{.*}} tensor<5x4xf32>
// CHECK-NOT: dist.all_reduce
// CHECK: return

// RESULT: near: equal to the program on one rank
// RESULT: far: equal to the program on one rank

dist.mesh @m ["x" = 2]
#row = affine_map<(i, j) -> (i, j)>
#sum = affine_map<(i, j) -> (j)>

func.func @main(%a: tensor<5x8x4xf32> {dist.input = "a", dist.sharding = #dist.sharding<@m, [{}, {"x"}, {}]>})
    -> (tensor<5x4xf32> {dist.output = "near"}, tensor<64x4xf32> {dist.output = "far"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  %zeros5 = arith.constant dense<0.0> : tensor<5x4xf32>
  %zeros64 = arith.constant dense<0.0> : tensor<64x4xf32>
  %0:2 = scf.for %k = %c0 to %c5 step %c1 iter_args(%s = %zeros5, %t = %zeros64) -> (tensor<5x4xf32>, tensor<64x4xf32>) {
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
    %empty5 = tensor.empty() : tensor<5x4xf32>
    %empty64 = tensor.empty() : tensor<64x4xf32>
    %near = linalg.broadcast ins(%one : tensor<4xf32>) outs(%empty5 : tensor<5x4xf32>) dimensions = [0]
    %far = linalg.broadcast ins(%two : tensor<4xf32>) outs(%empty64 : tensor<64x4xf32>) dimensions = [0]
    %s1 = linalg.add ins(%s, %near : tensor<5x4xf32>, tensor<5x4xf32>) outs(%zeros5 : tensor<5x4xf32>) -> tensor<5x4xf32>
    %t1 = linalg.add ins(%t, %far : tensor<64x4xf32>, tensor<64x4xf32>) outs(%zeros64 : tensor<64x4xf32>) -> tensor<64x4xf32>
    scf.yield %s1, %t1 : tensor<5x4xf32>, tensor<64x4xf32>
  }
  return %0#0, %0#1 : tensor<5x4xf32>, tensor<64x4xf32>
}
