func.func @main(%x: tensor<4x8xf32> {dist.input = "i0"}, %y: tensor<15x4xf32> {dist.input = "i1"}) -> (tensor<4x4xf32> {dist.output = "y"}) {
%e = tensor.empty() : tensor<4x4xf32>
%r = linalg.generic {indexing_maps = [affine_map<(i,j,k)->(i, k)>, affine_map<(i,j,k)->(k*2, j)>, affine_map<(i,j,k)->(i,j)>], iterator_types = ["parallel","parallel","reduction"]} ins(%x, %y: tensor<4x8xf32>, tensor<15x4xf32>) outs(%e : tensor<4x4xf32>) {
^bb0(%a: f32, %b: f32, %o: f32):
%m = arith.mulf %a, %b : f32
%s = arith.addf %m, %o : f32
linalg.yield %s : f32
} -> tensor<4x4xf32>
return %r : tensor<4x4xf32>
}
