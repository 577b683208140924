// Each element from its neighbour, which the same op writes.
#i = affine_map<(i, j) -> (i, j)>

func.func @main(%x: tensor<8x8xf32> {dist.input = "x"}, %y: tensor<8x8xf32> {dist.input = "y"}) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %r = linalg.generic {indexing_maps = [#i], iterator_types = ["parallel", "parallel"]} outs(%x : tensor<8x8xf32>) {
  ^bb0(%old: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %one = arith.constant 1 : index
    %eight = arith.constant 8 : index
    %next = arith.addi %i, %one : index
    %at = arith.remui %next, %eight : index
    %n = tensor.extract %x[%at, %j] : tensor<8x8xf32>
    %o = arith.subf %n, %old : f32
    linalg.yield %o : f32
  } -> tensor<8x8xf32>
  %out = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel", "parallel"]}
      ins(%r : tensor<8x8xf32>) outs(%y : tensor<8x8xf32>) {
  ^bb0(%a0: f32, %old: f32):
    %o = arith.addf %a0, %old : f32
    linalg.yield %o : f32
  } -> tensor<8x8xf32>
  return %out, %r : tensor<8x8xf32>, tensor<8x8xf32>
}
