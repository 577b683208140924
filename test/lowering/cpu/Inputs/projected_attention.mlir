#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (h, j, d)>
#v = affine_map<(h, i, j, d, e) -> (h, j, e)>
#o = affine_map<(h, i, j, d, e) -> (h, i, e)>
func.func @main(%q: tensor<2x50x8xf32> {dist.input = "q"}, %k: tensor<2x60x8xf32> {dist.input = "k"}, %v: tensor<2x60x8xf32> {dist.input = "v"},
                %a: tensor<2x60x8xf32> {dist.input = "a"})
    -> (tensor<2x50x8xf32> {dist.output = "o"}) {
  %ek = tensor.empty() : tensor<2x60x8xf32>
  %bent = linalg.tanh ins(%k : tensor<2x60x8xf32>) outs(%ek : tensor<2x60x8xf32>) -> tensor<2x60x8xf32>
  %moved = linalg.add ins(%v, %a : tensor<2x60x8xf32>, tensor<2x60x8xf32>) outs(%ek : tensor<2x60x8xf32>) -> tensor<2x60x8xf32>
  %o = tensor.empty() : tensor<2x50x8xf32>
  %0 = dist.attention(%q, %bent, %moved : tensor<2x50x8xf32>, tensor<2x60x8xf32>, tensor<2x60x8xf32>) outs(%o : tensor<2x50x8xf32>)
      maps [#q, #k, #v, #o] {
  ^bb0(%s: f32, %h: index, %i: index, %j: index):
    dist.attention_yield %s : f32
  } -> tensor<2x50x8xf32>
  return %0 : tensor<2x50x8xf32>
}
