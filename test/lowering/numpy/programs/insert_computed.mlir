// A slice that is computed in its place, while the whole is read.
#i = affine_map<(i, j) -> (i, j)>
#t = affine_map<(i, j) -> (j, i)>

func.func @main(%x: tensor<8x8xf32> {dist.input = "x"}, %y: tensor<8x8xf32> {dist.input = "y"}) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %p = tensor.extract_slice %x[2, 0] [4, 8] [1, 1] : tensor<8x8xf32> to tensor<4x8xf32>
  %q = tensor.extract_slice %y[1, 0] [4, 8] [1, 1] : tensor<8x8xf32> to tensor<4x8xf32>
  %n = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel", "parallel"]}
      ins(%q : tensor<4x8xf32>) outs(%p : tensor<4x8xf32>) {
  ^bb0(%a0: f32, %old: f32):
    %o = arith.addf %a0, %old : f32
    linalg.yield %o : f32
  } -> tensor<4x8xf32>
  %a = tensor.insert_slice %n into %x[2, 0] [4, 8] [1, 1] : tensor<4x8xf32> into tensor<8x8xf32>
  %b = linalg.generic {indexing_maps = [#t, #i], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x8xf32>) outs(%a : tensor<8x8xf32>) {
  ^bb0(%a0: f32, %old: f32):
    %o = arith.subf %a0, %old : f32
    linalg.yield %o : f32
  } -> tensor<8x8xf32>
  return %a, %b : tensor<8x8xf32>, tensor<8x8xf32>
}
