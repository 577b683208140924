func.func @main(%x: tensor<16xf32> {dist.input = "i0"}) -> (tensor<4xf32> {dist.output = "y"}) {
%e = tensor.empty() : tensor<4xf32>
%r = linalg.generic {indexing_maps = [affine_map<(i)->(i)>], iterator_types = ["parallel"]} outs(%e : tensor<4xf32>) {
^bb0(%o: f32):
%k = linalg.index 0 : index
%k2 = affine.apply affine_map<(d)->(d*3000)>(%k)
%q = tensor.extract %x[%k2] : tensor<16xf32>
linalg.yield %q : f32
} -> tensor<4xf32>
return %r : tensor<4xf32>
}
