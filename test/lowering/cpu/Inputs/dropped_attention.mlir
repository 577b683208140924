// Causal attention some of whose weights are dropped by a hash of their place and a seed, the others scaled.
#all = affine_map<(h, i, j) -> (h, i, j)>
func.func @main(%q: tensor<2x1450x8xf32> {dist.input = "q"}, %k: tensor<2x1500x8xf32> {dist.input = "k"}, %v: tensor<2x1500x8xf32> {dist.input = "v"},
                %seed: tensor<i64> {dist.input = "seed"})
    -> (tensor<2x1450x8xf32> {dist.output = "o"}) {
  %zero = arith.constant 0.0 : f32
  %inf = arith.constant 0xFF800000 : f32
  %scale = arith.constant 1.25 : f32
  %odd = arith.constant 2654435761 : i64
  %word = arith.constant 65535 : i64
  %ratio = arith.constant 13107 : i64
  %sixteen = arith.constant 16 : i64
  %e = tensor.empty() : tensor<2x1450x1500xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2x1450x1500xf32>) -> tensor<2x1450x1500xf32>
  %s = linalg.contract indexing_maps = [affine_map<(h, i, j, d) -> (h, i, d)>, affine_map<(h, i, j, d) -> (h, j, d)>,
                                        affine_map<(h, i, j, d) -> (h, i, j)>]
      ins(%q, %k : tensor<2x1450x8xf32>, tensor<2x1500x8xf32>) outs(%z : tensor<2x1450x1500xf32>) -> tensor<2x1450x1500xf32>
  %x = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : tensor<2x1450x1500xf32>) outs(%e : tensor<2x1450x1500xf32>) {
  ^bb0(%a: f32, %out: f32):
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %seen = arith.cmpi sle, %j, %i : index
    %1 = arith.select %seen, %a, %inf : f32
    linalg.yield %1 : f32
  } -> tensor<2x1450x1500xf32>
  %p = linalg.softmax dimension(2) ins(%x : tensor<2x1450x1500xf32>) outs(%e : tensor<2x1450x1500xf32>) -> tensor<2x1450x1500xf32>
  %dropped = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%p : tensor<2x1450x1500xf32>) outs(%e : tensor<2x1450x1500xf32>) {
  ^bb0(%a: f32, %out: f32):
    %key = tensor.extract %seed[] : tensor<i64>
    %h = linalg.index 0 : index
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %rows = arith.constant 1450 : index
    %columns = arith.constant 1500 : index
    %1 = arith.muli %h, %rows : index
    %2 = arith.addi %1, %i : index
    %3 = arith.muli %2, %columns : index
    %4 = arith.addi %3, %j : index
    %5 = arith.index_cast %4 : index to i64
    %6 = arith.addi %5, %key : i64
    %7 = arith.muli %6, %odd : i64
    %8 = arith.shrui %7, %sixteen : i64
    %9 = arith.andi %8, %word : i64
    %kept = arith.cmpi sge, %9, %ratio : i64
    %10 = arith.mulf %a, %scale : f32
    %11 = arith.select %kept, %10, %zero : f32
    linalg.yield %11 : f32
  } -> tensor<2x1450x1500xf32>
  %eo = tensor.empty() : tensor<2x1450x8xf32>
  %zo = linalg.fill ins(%zero : f32) outs(%eo : tensor<2x1450x8xf32>) -> tensor<2x1450x8xf32>
  %o = linalg.contract indexing_maps = [affine_map<(h, i, e, j) -> (h, i, j)>, affine_map<(h, i, e, j) -> (h, j, e)>,
                                        affine_map<(h, i, e, j) -> (h, i, e)>]
      ins(%dropped, %v : tensor<2x1450x1500xf32>, tensor<2x1500x8xf32>) outs(%zo : tensor<2x1450x8xf32>) -> tensor<2x1450x8xf32>
  return %o : tensor<2x1450x8xf32>
}
