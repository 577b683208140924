// A fill before a branch that only one way uses, and again after.
#i = affine_map<(i, j) -> (i, j)>

func.func @main(%x: tensor<8x8xf32> {dist.input = "x"}, %y: tensor<8x8xf32> {dist.input = "y"}, %c: tensor<1xi64> {dist.input = "c"}) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %zero = arith.constant 0 : index
  %number = tensor.extract %c[%zero] : tensor<1xi64>
  %none = arith.constant 0 : i64
  %is = arith.cmpi sgt, %number, %none : i64
  %two = arith.constant 2.0 : f32
  %e = tensor.empty() : tensor<8x8xf32>
  %f = linalg.fill ins(%two : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %r = scf.if %is -> (tensor<8x8xf32>) {
  %n = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x8xf32>) outs(%f : tensor<8x8xf32>) {
  ^bb0(%a0: f32, %old: f32):
    %o = arith.addf %a0, %old : f32
    linalg.yield %o : f32
  } -> tensor<8x8xf32>
    scf.yield %n : tensor<8x8xf32>
  } else {
    scf.yield %y : tensor<8x8xf32>
  }
  %out = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel", "parallel"]}
      ins(%r : tensor<8x8xf32>) outs(%f : tensor<8x8xf32>) {
  ^bb0(%a0: f32, %old: f32):
    %o = arith.subf %a0, %old : f32
    linalg.yield %o : f32
  } -> tensor<8x8xf32>
  return %r, %out : tensor<8x8xf32>, tensor<8x8xf32>
}
