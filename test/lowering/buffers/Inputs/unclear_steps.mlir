// With steps, and known offsets: upstream crashed (memref::SubViewOp::getDroppedDims).
func.func @f(%x: tensor<9x5x1x2xf64> {dist.input = "x"}, %y: tensor<9x3x1xf64> {dist.input = "y"})
    -> (tensor<9x3x1xf64> {dist.output = "t"}, tensor<9x5x1x2xf64> {dist.output = "u"}) {
  %s = tensor.extract_slice %x[0, 0, 0, 1] [9, 3, 1, 1] [1, 2, 1, 1] : tensor<9x5x1x2xf64> to tensor<9x3x1xf64>
  %t = math.tanh %s : tensor<9x3x1xf64>
  %m = arith.addf %x, %x : tensor<9x5x1x2xf64>
  %u = tensor.insert_slice %y into %m[0, 0, 0, 1] [9, 3, 1, 1] [1, 2, 1, 1] : tensor<9x3x1xf64> into tensor<9x5x1x2xf64>
  return %t, %u : tensor<9x3x1xf64>, tensor<9x5x1x2xf64>
}
