func.func @main(%x: tensor<2x8xf32> {dist.input = "i0"}) -> (tensor<13xf32> {dist.output = "y"}) {
%e = tensor.empty() : tensor<13xf32>
%r = linalg.unpack %x inner_dims_pos = [0] inner_tiles = [8] into %e : tensor<2x8xf32> -> tensor<13xf32>
return %r : tensor<13xf32>
}
