// Parts of sums are shuffled by words of 32 bits, of any width; constants of indices are the device's, too.
// RUN: dist-run %s --backend cuda --driver emulated --random=1 --verify 2>&1 | FileCheck %s --implicit-check-not='emulated GPU'

// CHECK: y: equal to the program on one rank (largest difference 0)
// CHECK: z: equal to the program on one rank (largest difference 0)

#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#one = affine_map<(i) -> (i)>
func.func @main(%x: tensor<3x100xi32> {dist.input = "x"}) -> (tensor<3xi32> {dist.output = "y"}, tensor<3xi64> {dist.output = "z"}) {
  %zero = arith.constant 0 : i128
  %e = tensor.empty() : tensor<3xi128>
  %f = linalg.fill ins(%zero : i128) outs(%e : tensor<3xi128>) -> tensor<3xi128>
  %w = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<3x100xi32>) outs(%f : tensor<3xi128>) {
  ^bb0(%a: i32, %s: i128):
    %b = arith.extsi %a : i32 to i128
    %r = arith.addi %b, %s : i128
    linalg.yield %r : i128
  } -> tensor<3xi128>
  %y = arith.trunci %w : tensor<3xi128> to tensor<3xi32>
  %indices = arith.constant dense<[5, 6, 7]> : tensor<3xindex>
  %c = tensor.empty() : tensor<3xi64>
  %z = linalg.generic {indexing_maps = [#one, #one, #one], iterator_types = ["parallel"]}
      ins(%y, %indices : tensor<3xi32>, tensor<3xindex>) outs(%c : tensor<3xi64>) {
  ^bb0(%a: i32, %i: index, %o: i64):
    %b = arith.extsi %a : i32 to i64
    %d = arith.index_cast %i : index to i64
    %v = arith.addi %b, %d : i64
    linalg.yield %v : i64
  } -> tensor<3xi64>
  return %y, %z : tensor<3xi32>, tensor<3xi64>
}
