// An accumulator whose first value is needed again.
#i = affine_map<(i, j) -> (i, j)>
#t = affine_map<(i, j) -> (j, i)>

func.func @main(%x: tensor<8x8xf32> {dist.input = "x"}, %y: tensor<8x8xf32> {dist.input = "y"}) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  %e = tensor.empty() : tensor<8x8xf32>
  %a = linalg.generic {indexing_maps = [#i, #i, #i], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<8x8xf32>, tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%a0: f32, %a1: f32, %old: f32):
    %o = arith.addf %a0, %a1 : f32
    linalg.yield %o : f32
  } -> tensor<8x8xf32>
  %b = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x8xf32>) outs(%a : tensor<8x8xf32>) {
  ^bb0(%a0: f32, %old: f32):
    %o = arith.addf %a0, %old : f32
    linalg.yield %o : f32
  } -> tensor<8x8xf32>
  %c = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel", "parallel"]}
      ins(%y : tensor<8x8xf32>) outs(%b : tensor<8x8xf32>) {
  ^bb0(%a0: f32, %old: f32):
    %o = arith.subf %a0, %old : f32
    linalg.yield %o : f32
  } -> tensor<8x8xf32>
  %d = linalg.generic {indexing_maps = [#t, #i], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<8x8xf32>) outs(%c : tensor<8x8xf32>) {
  ^bb0(%a0: f32, %old: f32):
    %o = arith.addf %a0, %old : f32
    linalg.yield %o : f32
  } -> tensor<8x8xf32>
  return %d, %a, %b : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}
