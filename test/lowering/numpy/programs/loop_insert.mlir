// Row after row is made from the row before: running sums.
#i = affine_map<(i, j) -> (i, j)>

func.func @main(%x: tensor<8x8xf32> {dist.input = "x"}, %y: tensor<8x8xf32> {dist.input = "y"}) -> tensor<8x8xf32> {
  %one = arith.constant 1 : index
  %eight = arith.constant 8 : index
  %r = scf.for %k = %one to %eight step %one iter_args(%p = %x) -> (tensor<8x8xf32>) {
    %before = arith.subi %k, %one : index
    %a = tensor.extract_slice %p[%before, 0] [1, 8] [1, 1] : tensor<8x8xf32> to tensor<1x8xf32>
    %b = tensor.extract_slice %p[%k, 0] [1, 8] [1, 1] : tensor<8x8xf32> to tensor<1x8xf32>
  %n = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<1x8xf32>) outs(%b : tensor<1x8xf32>) {
  ^bb0(%a0: f32, %old: f32):
    %o = arith.addf %a0, %old : f32
    linalg.yield %o : f32
  } -> tensor<1x8xf32>
    %next = tensor.insert_slice %n into %p[%k, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<8x8xf32>
    scf.yield %next : tensor<8x8xf32>
  }
  %out = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x8xf32>) outs(%r : tensor<8x8xf32>) {
  ^bb0(%a0: f32, %old: f32):
    %o = arith.subf %a0, %old : f32
    linalg.yield %o : f32
  } -> tensor<8x8xf32>
  return %out : tensor<8x8xf32>
}
