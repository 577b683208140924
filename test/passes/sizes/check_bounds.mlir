// RUN: dist-opt %s --dist-check-bounds | FileCheck %s

// What fits is taken, however the map says it, and also where a range alone does not tell.

#id = affine_map<(i) -> (i)>
// CHECK-LABEL: @maps
func.func @maps(%x: tensor<16xf32>, %e: tensor<16xf32>, %big: tensor<1000000xf32>) -> tensor<16xf32> {
  %a = linalg.generic {indexing_maps = [affine_map<(i) -> ((i mod 4) * 5)>, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<16xf32>) outs(%e : tensor<16xf32>) {
  ^bb0(%one: f32, %o: f32):
    linalg.yield %one : f32
  } -> tensor<16xf32>
  %b = linalg.generic {indexing_maps = [affine_map<(i) -> ((i floordiv 3) * 3 + i mod 3)>, #id],
                       iterator_types = ["parallel"]}
      ins(%x : tensor<16xf32>) outs(%e : tensor<16xf32>) {
  ^bb0(%one: f32, %o: f32):
    linalg.yield %one : f32
  } -> tensor<16xf32>
  %c = linalg.generic {indexing_maps = [affine_map<(i) -> (15 - i)>, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<16xf32>) outs(%e : tensor<16xf32>) {
  ^bb0(%one: f32, %o: f32):
    linalg.yield %one : f32
  } -> tensor<16xf32>
  %d = linalg.generic {indexing_maps = [affine_map<(i) -> (7 * (i floordiv 7) + i - 7 * (i floordiv 7))>, #id],
                       iterator_types = ["parallel"]}
      ins(%big : tensor<1000000xf32>) outs(%big : tensor<1000000xf32>) {
  ^bb0(%one: f32, %o: f32):
    linalg.yield %one : f32
  } -> tensor<1000000xf32>
  return %c : tensor<16xf32>
}

// The last turn is at 2^63 - 2, and the step after it fits.
// CHECK-LABEL: @loop
func.func @loop(%a: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %end = arith.constant 9223372036854775807 : index
  %r = scf.for %i = %c0 to %end step %c1 iter_args(%t = %a) -> f32 {
    scf.yield %t : f32
  }
  %s = scf.for %i = %end to %c0 step %end iter_args(%t = %r) -> f32 {
    scf.yield %t : f32
  }
  return %s : f32
}

// Sizes and positions that are not known yet are not judged.
// CHECK-LABEL: @open
func.func @open(%x: tensor<?xf32>, %at: index, %y: tensor<16xf32>) -> (tensor<99xf32>, tensor<4xf32>) {
  %a = tensor.extract_slice %x[3] [99] [7] : tensor<?xf32> to tensor<99xf32>
  %b = tensor.extract_slice %y[%at] [4] [5] : tensor<16xf32> to tensor<4xf32>
  return %a, %b : tensor<99xf32>, tensor<4xf32>
}
