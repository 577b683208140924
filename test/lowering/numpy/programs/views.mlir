// One buffer in three shapes, written in one of them.
#i = affine_map<(i, j) -> (i, j)>
#t = affine_map<(i, j) -> (j, i)>
#v = affine_map<(i) -> (i)>

func.func @main(%x: tensor<8x8xf32> {dist.input = "x"}, %y: tensor<8x8xf32> {dist.input = "y"}) -> (tensor<8x8xf32>, tensor<4x2x8xf32>) {
  %v = tensor.collapse_shape %x [[0, 1]] : tensor<8x8xf32> into tensor<64xf32>
  %w = tensor.collapse_shape %y [[0, 1]] : tensor<8x8xf32> into tensor<64xf32>
  %n = linalg.generic {indexing_maps = [#v, #v], iterator_types = ["parallel"]} ins(%w : tensor<64xf32>) outs(%v : tensor<64xf32>) {
  ^bb0(%a0: f32, %old: f32):
    %o = arith.subf %old, %a0 : f32
    linalg.yield %o : f32
  } -> tensor<64xf32>
  %s = tensor.expand_shape %n [[0, 1]] output_shape [8, 8] : tensor<64xf32> into tensor<8x8xf32>
  %u = tensor.expand_shape %s [[0, 1], [2]] output_shape [4, 2, 8] : tensor<8x8xf32> into tensor<4x2x8xf32>
  %out = linalg.generic {indexing_maps = [#t, #i], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<8x8xf32>) outs(%x : tensor<8x8xf32>) {
  ^bb0(%a0: f32, %old: f32):
    %o = arith.addf %a0, %old : f32
    linalg.yield %o : f32
  } -> tensor<8x8xf32>
  return %out, %u : tensor<8x8xf32>, tensor<4x2x8xf32>
}
