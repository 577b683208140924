// Attention of 8 rows of x to 16 of m, without projections.
#q = affine_map<(h, i, j, d) -> (h, i, d)>
#k = affine_map<(h, i, j, d) -> (h, j, d)>
#s = affine_map<(h, i, j, d) -> (h, i, j)>
#p = affine_map<(h, i, e, j) -> (h, i, j)>
#v = affine_map<(h, i, e, j) -> (h, j, e)>
#o = affine_map<(h, i, e, j) -> (h, i, e)>
func.func @main(%x: tensor<2x8x4xf32> {dist.input = "x"}, %m: tensor<2x16x4xf32> {dist.input = "m"})
    -> (tensor<2x8x4xf32> {dist.output = "y"}) {
  %zero = arith.constant 0.0 : f32
  %es = tensor.empty() : tensor<2x8x16xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
  %s = linalg.contract indexing_maps = [#q, #k, #s] {dist.scope = "attn"}
      ins(%x, %m : tensor<2x8x4xf32>, tensor<2x16x4xf32>) outs(%fs : tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
  %p = linalg.softmax {dist.scope = "attn"} dimension(2)
      ins(%s : tensor<2x8x16xf32>) outs(%es : tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
  %eo = tensor.empty() : tensor<2x8x4xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  %o = linalg.contract indexing_maps = [#p, #v, #o] {dist.scope = "attn"}
      ins(%p, %m : tensor<2x8x16xf32>, tensor<2x16x4xf32>) outs(%fo : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  return %o : tensor<2x8x4xf32>
}
