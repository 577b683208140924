func.func @main(%x: tensor<16xf32> {dist.input = "i0"}, %t: tensor<4x1xindex> {dist.input = "i1"}) -> (tensor<4x1xf32> {dist.output = "y"}) {
%r = tensor.gather %x[%t] gather_dims([0]) : (tensor<16xf32>, tensor<4x1xindex>) -> tensor<4x1xf32>
return %r : tensor<4x1xf32>
}
