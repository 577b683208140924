#x = affine_map<(g, s, n, k) -> (g, s, k)>
#w = affine_map<(g, s, n, k) -> (k, n)>
#y = affine_map<(g, s, n, k) -> (g, s, n)>
func.func @main(%x: tensor<3x4x8xf32> {dist.input = "x"}, %w: tensor<8x8xf32> {dist.input = "w"}) -> (tensor<2x8xf32> {dist.output = "y"}) {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3x4x8xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<3x4x8xf32>) -> tensor<3x4x8xf32>
  %p = linalg.contract indexing_maps = [#x, #w, #y] ins(%x, %w : tensor<3x4x8xf32>, tensor<8x8xf32>) outs(%f : tensor<3x4x8xf32>) -> tensor<3x4x8xf32>
  %c = tensor.collapse_shape %p [[0, 1], [2]] : tensor<3x4x8xf32> into tensor<12x8xf32>
  %s = tensor.extract_slice %c[0, 0] [2, 8] [1, 1] : tensor<12x8xf32> to tensor<2x8xf32>
  return %s : tensor<2x8xf32>
}
