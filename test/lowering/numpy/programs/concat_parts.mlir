// Parts of one tensor joined in another order, and with themselves.
#i = affine_map<(i, j) -> (i, j)>

func.func @main(%x: tensor<8x8xf32> {dist.input = "x"}, %y: tensor<8x8xf32> {dist.input = "y"}) -> (tensor<8x8xf32>, tensor<16x8xf32>) {
  %p = tensor.extract_slice %x[0, 0] [3, 8] [1, 1] : tensor<8x8xf32> to tensor<3x8xf32>
  %q = tensor.extract_slice %x[3, 0] [5, 8] [1, 1] : tensor<8x8xf32> to tensor<5x8xf32>
  %a = tensor.concat dim(0) %q, %p : (tensor<5x8xf32>, tensor<3x8xf32>) -> tensor<8x8xf32>
  %b = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<8x8xf32>) outs(%x : tensor<8x8xf32>) {
  ^bb0(%a0: f32, %old: f32):
    %o = arith.addf %a0, %old : f32
    linalg.yield %o : f32
  } -> tensor<8x8xf32>
  %c = tensor.concat dim(0) %b, %b : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  return %b, %c : tensor<8x8xf32>, tensor<16x8xf32>
}
