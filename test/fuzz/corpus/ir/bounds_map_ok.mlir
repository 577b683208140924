func.func @main(%x: tensor<16xf32> {dist.input = "i0"}) -> (tensor<5xf32> {dist.output = "y"}) {
%e = tensor.empty() : tensor<5xf32>
%r = linalg.generic {indexing_maps = [affine_map<(i)->((i mod 4) * 5)>, affine_map<(i)->(i)>], iterator_types = ["parallel"]} ins(%x : tensor<16xf32>) outs(%e : tensor<5xf32>) {
^bb0(%a: f32, %o: f32):
linalg.yield %a : f32
} -> tensor<5xf32>
return %r : tensor<5xf32>
}
