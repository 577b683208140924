// Nothing, joined with something and handed through a loop.
#i = affine_map<(i, j) -> (i, j)>

func.func @main(%x: tensor<8x8xf32> {dist.input = "x"}, %y: tensor<8x8xf32> {dist.input = "y"}, %z: tensor<0x8xf32> {dist.input = "z"}) -> (tensor<8x8xf32>, tensor<0x8xf32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %a = tensor.concat dim(0) %z, %x : (tensor<0x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %r:2 = scf.for %k = %zero to %two step %one iter_args(%p = %z, %q = %a) -> (tensor<0x8xf32>, tensor<8x8xf32>) {
  %n = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel", "parallel"]}
      ins(%y : tensor<8x8xf32>) outs(%q : tensor<8x8xf32>) {
  ^bb0(%a0: f32, %old: f32):
    %o = arith.addf %a0, %old : f32
    linalg.yield %o : f32
  } -> tensor<8x8xf32>
    scf.yield %p, %n : tensor<0x8xf32>, tensor<8x8xf32>
  }
  return %r#1, %r#0 : tensor<8x8xf32>, tensor<0x8xf32>
}
