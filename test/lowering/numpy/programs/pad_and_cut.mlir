// Zeros around, a part of that, and the original again.
#i = affine_map<(i, j) -> (i, j)>

func.func @main(%x: tensor<8x8xf32> {dist.input = "x"}, %y: tensor<8x8xf32> {dist.input = "y"}) -> (tensor<10x9xf32>, tensor<8x8xf32>) {
  %zero = arith.constant 0.0 : f32
  %a = tensor.pad %x low[1, 0] high[1, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<8x8xf32> to tensor<10x9xf32>
  %p = tensor.extract_slice %a[0, 1] [8, 8] [1, 1] : tensor<10x9xf32> to tensor<8x8xf32>
  %b = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel", "parallel"]}
      ins(%p : tensor<8x8xf32>) outs(%x : tensor<8x8xf32>) {
  ^bb0(%a0: f32, %old: f32):
    %o = arith.subf %a0, %old : f32
    linalg.yield %o : f32
  } -> tensor<8x8xf32>
  return %a, %b : tensor<10x9xf32>, tensor<8x8xf32>
}
