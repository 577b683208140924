// A switch hands on an argument; what is computed from it must not be computed in it.
#i = affine_map<(i, j) -> (i, j)>

func.func @main(%x: tensor<8x8xf32> {dist.input = "x"}, %y: tensor<8x8xf32> {dist.input = "y"}, %c: tensor<1xi64> {dist.input = "c"}) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %zero = arith.constant 0 : index
  %number = tensor.extract %c[%zero] : tensor<1xi64>
  %none = arith.constant 0 : i64
  %is = arith.cmpi sgt, %number, %none : i64
  %case = arith.index_cast %number : i64 to index
  %r:2 = scf.index_switch %case -> tensor<8x8xf32>, tensor<8x8xf32>
  case 1 {
    scf.yield %x, %y : tensor<8x8xf32>, tensor<8x8xf32>
  }
  case 2 {
    scf.yield %y, %y : tensor<8x8xf32>, tensor<8x8xf32>
  }
  default {
    scf.yield %y, %x : tensor<8x8xf32>, tensor<8x8xf32>
  }
  %e = tensor.empty() : tensor<8x8xf32>
  %a = linalg.generic {indexing_maps = [#i, #i, #i], iterator_types = ["parallel", "parallel"]}
      ins(%r#0, %r#1 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%a0: f32, %a1: f32, %old: f32):
    %o = arith.addf %a0, %a1 : f32
    linalg.yield %o : f32
  } -> tensor<8x8xf32>
  %out = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<8x8xf32>) outs(%r#0 : tensor<8x8xf32>) {
  ^bb0(%a0: f32, %old: f32):
    %o = arith.addf %a0, %old : f32
    linalg.yield %o : f32
  } -> tensor<8x8xf32>
  return %a, %out : tensor<8x8xf32>, tensor<8x8xf32>
}
