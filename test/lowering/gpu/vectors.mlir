// LLVM must not read vectors that go beyond the end of a buffer: of 3, 7 or 31 elements it would, if it knew their alignment.
// RUN: dist-run %s --backend cuda --driver emulated --random=1 --verify 2>&1 | FileCheck %s --implicit-check-not='emulated GPU'
// RUN: dist-run %s --backend cuda --driver emulated:7 --random=1 --verify 2>&1 | FileCheck %s --implicit-check-not='emulated GPU'

// CHECK: scaled: equal to the program on one rank
// CHECK: seven: equal to the program on one rank
// CHECK: many: equal to the program on one rank
// CHECK: shifted: equal to the program on one rank

#all = affine_map<(i, j) -> (i, j)>
func.func @main(%x: tensor<40x3xf32> {dist.input = "x"}, %s: tensor<3xf32> {dist.input = "s"},
                %p: tensor<7xf32> {dist.input = "p"}, %i: tensor<31xi8> {dist.input = "i"}, %y: tensor<2051xf32> {dist.input = "y"})
    -> (tensor<40xf32> {dist.output = "scaled"}, tensor<f32> {dist.output = "seven"}, tensor<i8> {dist.output = "many"},
        tensor<2048xf32> {dist.output = "shifted"}) {
  %zero = arith.constant dense<0.0> : tensor<40xf32>
  %a = linalg.generic {indexing_maps = [#all, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i)>],
                       iterator_types = ["parallel", "reduction"]}
      ins(%x, %s : tensor<40x3xf32>, tensor<3xf32>) outs(%zero : tensor<40xf32>) {
  ^bb0(%f: f32, %k: f32, %o: f32):
    %m = arith.mulf %f, %k : f32
    %r = arith.addf %m, %o : f32
    linalg.yield %r : f32
  } -> tensor<40xf32>
  %z = arith.constant dense<0.0> : tensor<f32>
  %b = linalg.reduce ins(%p : tensor<7xf32>) outs(%z : tensor<f32>) dimensions = [0]
    (%f: f32, %o: f32) { %r = arith.addf %f, %o : f32 linalg.yield %r : f32 }
  %n = arith.constant dense<0> : tensor<i8>
  %c = linalg.reduce ins(%i : tensor<31xi8>) outs(%n : tensor<i8>) dimensions = [0]
    (%f: i8, %o: i8) { %r = arith.addi %f, %o : i8 linalg.yield %r : i8 }
  // 4 neighbours read 7 elements.
  %y0 = tensor.extract_slice %y[0] [2048] [1] : tensor<2051xf32> to tensor<2048xf32>
  %y1 = tensor.extract_slice %y[1] [2048] [1] : tensor<2051xf32> to tensor<2048xf32>
  %y2 = tensor.extract_slice %y[2] [2048] [1] : tensor<2051xf32> to tensor<2048xf32>
  %y3 = tensor.extract_slice %y[3] [2048] [1] : tensor<2051xf32> to tensor<2048xf32>
  %y01 = arith.addf %y0, %y1 : tensor<2048xf32>
  %y23 = arith.addf %y2, %y3 : tensor<2048xf32>
  %d = arith.mulf %y01, %y23 : tensor<2048xf32>
  return %a, %b, %c, %d : tensor<40xf32>, tensor<f32>, tensor<i8>, tensor<2048xf32>
}
