func.func @main(%x: tensor<16xf32> {dist.input = "i0"}) -> (tensor<2x8xf32> {dist.output = "y"}) {
%e = tensor.empty() : tensor<2x8xf32>
%r = linalg.pack %x inner_dims_pos = [0] inner_tiles = [8] into %e : tensor<16xf32> -> tensor<2x8xf32>
return %r : tensor<2x8xf32>
}
