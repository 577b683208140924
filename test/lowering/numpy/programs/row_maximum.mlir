// The maximum of each row taken from the row, in its place.
#i = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

func.func @main(%x: tensor<8x8xf32> {dist.input = "x"}, %y: tensor<8x8xf32> {dist.input = "y"}) -> (tensor<8x8xf32>, tensor<8xf32>) {
  %low = arith.constant -1000.0 : f32
  %e = tensor.empty() : tensor<8x8xf32>
  %a = linalg.generic {indexing_maps = [#i, #i, #i], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<8x8xf32>, tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%a0: f32, %a1: f32, %old: f32):
    %o = arith.subf %a0, %a1 : f32
    linalg.yield %o : f32
  } -> tensor<8x8xf32>
  %m = tensor.empty() : tensor<8xf32>
  %f = linalg.fill ins(%low : f32) outs(%m : tensor<8xf32>) -> tensor<8xf32>
  %row = linalg.generic {indexing_maps = [#i, #r], iterator_types = ["parallel", "reduction"]}
      ins(%a : tensor<8x8xf32>) outs(%f : tensor<8xf32>) {
  ^bb0(%a0: f32, %old: f32):
    %o = arith.maximumf %a0, %old : f32
    linalg.yield %o : f32
  } -> tensor<8xf32>
  %out = linalg.generic {indexing_maps = [#r, #i], iterator_types = ["parallel", "parallel"]} ins(%row : tensor<8xf32>) outs(%a : tensor<8x8xf32>) {
  ^bb0(%a0: f32, %old: f32):
    %o = arith.subf %old, %a0 : f32
    linalg.yield %o : f32
  } -> tensor<8x8xf32>
  return %out, %row : tensor<8x8xf32>, tensor<8xf32>
}
