// A while loop whose first half already changes places.
#i = affine_map<(i, j) -> (i, j)>

func.func @main(%x: tensor<8x8xf32> {dist.input = "x"}, %y: tensor<8x8xf32> {dist.input = "y"}, %c: tensor<1xi64> {dist.input = "c"}) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %zero = arith.constant 0 : index
  %number = tensor.extract %c[%zero] : tensor<1xi64>
  %none = arith.constant 0 : i64
  %is = arith.cmpi sgt, %number, %none : i64
  %one = arith.constant 1 : i64
  %r:3 = scf.while (%k = %none, %p = %x, %q = %y) : (i64, tensor<8x8xf32>, tensor<8x8xf32>) -> (i64, tensor<8x8xf32>, tensor<8x8xf32>) {
    %goes = arith.cmpi slt, %k, %number : i64
    scf.condition(%goes) %k, %q, %p : i64, tensor<8x8xf32>, tensor<8x8xf32>
  } do {
  ^bb0(%k: i64, %p: tensor<8x8xf32>, %q: tensor<8x8xf32>):
    %next = arith.addi %k, %one : i64
  %n = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel", "parallel"]}
      ins(%p : tensor<8x8xf32>) outs(%q : tensor<8x8xf32>) {
  ^bb0(%a0: f32, %old: f32):
    %o = arith.subf %a0, %old : f32
    linalg.yield %o : f32
  } -> tensor<8x8xf32>
    scf.yield %next, %p, %n : i64, tensor<8x8xf32>, tensor<8x8xf32>
  }
  return %r#1, %r#2 : tensor<8x8xf32>, tensor<8x8xf32>
}
