// Rows by index, written where they came from.
#i = affine_map<(i, j) -> (i, j)>

func.func @main(%x: tensor<8x8xf32> {dist.input = "x"}, %y: tensor<8x8xf32> {dist.input = "y"}, %n: tensor<8x1xi64> {dist.input = "n"}) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %g = tensor.gather %x[%n] gather_dims([0]) : (tensor<8x8xf32>, tensor<8x1xi64>) -> tensor<8x8xf32>
  %a = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel", "parallel"]}
      ins(%g : tensor<8x8xf32>) outs(%x : tensor<8x8xf32>) {
  ^bb0(%a0: f32, %old: f32):
    %o = arith.subf %a0, %old : f32
    linalg.yield %o : f32
  } -> tensor<8x8xf32>
  %h = tensor.gather %a[%n] gather_dims([0]) : (tensor<8x8xf32>, tensor<8x1xi64>) -> tensor<8x8xf32>
  return %h, %a : tensor<8x8xf32>, tensor<8x8xf32>
}
