func.func @main(%x: tensor<1x16x1xf32> {dist.input = "i0"}, %k: tensor<2x1x1xf32> {dist.input = "i1"}) -> (tensor<1x3x1xf32> {dist.output = "y"}) {
%e = tensor.empty() : tensor<1x3x1xf32>
%r = linalg.conv_1d_nwc_wcf {strides = dense<-3> : vector<1xi64>, dilations = dense<8> : vector<1xi64>} ins(%x, %k : tensor<1x16x1xf32>, tensor<2x1x1xf32>) outs(%e : tensor<1x3x1xf32>) -> tensor<1x3x1xf32>
return %r : tensor<1x3x1xf32>
}
