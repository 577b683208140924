// Rows scattered into a tensor that is read again, and whose rows they are.
#i = affine_map<(i, j) -> (i, j)>
#t = affine_map<(i, j) -> (j, i)>

func.func @main(%x: tensor<8x8xf32> {dist.input = "x"}, %y: tensor<8x8xf32> {dist.input = "y"}, %n: tensor<3x1xi64> {dist.input = "n"}) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %p = tensor.extract_slice %x[5, 0] [3, 8] [1, 1] : tensor<8x8xf32> to tensor<3x8xf32>
  %rows = tensor.expand_shape %p [[0], [1, 2]] output_shape [3, 1, 8] : tensor<3x8xf32> into tensor<3x1x8xf32>
  %a = tensor.scatter %rows into %x[%n] scatter_dims([0]) unique : (tensor<3x1x8xf32>, tensor<8x8xf32>, tensor<3x1xi64>) -> tensor<8x8xf32>
  %b = linalg.generic {indexing_maps = [#t, #i], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x8xf32>) outs(%a : tensor<8x8xf32>) {
  ^bb0(%a0: f32, %old: f32):
    %o = arith.addf %a0, %old : f32
    linalg.yield %o : f32
  } -> tensor<8x8xf32>
  return %a, %b : tensor<8x8xf32>, tensor<8x8xf32>
}
