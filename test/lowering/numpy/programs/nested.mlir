// A branch in a loop: now the one, now the other buffer goes on.
#i = affine_map<(i, j) -> (i, j)>
#t = affine_map<(i, j) -> (j, i)>

func.func @main(%x: tensor<8x8xf32> {dist.input = "x"}, %y: tensor<8x8xf32> {dist.input = "y"}, %c: tensor<1xi64> {dist.input = "c"}) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %zero = arith.constant 0 : index
  %number = tensor.extract %c[%zero] : tensor<1xi64>
  %none = arith.constant 0 : i64
  %is = arith.cmpi sgt, %number, %none : i64
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %five = arith.constant 5 : index
  %r:2 = scf.for %k = %zero to %five step %one iter_args(%p = %x, %q = %y) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
    %rest = arith.remui %k, %two : index
    %odd = arith.cmpi eq, %rest, %one : index
    %s:2 = scf.if %odd -> (tensor<8x8xf32>, tensor<8x8xf32>) {
      scf.yield %q, %p : tensor<8x8xf32>, tensor<8x8xf32>
    } else {
  %n = linalg.generic {indexing_maps = [#t, #i], iterator_types = ["parallel", "parallel"]}
      ins(%q : tensor<8x8xf32>) outs(%p : tensor<8x8xf32>) {
  ^bb0(%a0: f32, %old: f32):
    %o = arith.addf %a0, %old : f32
    linalg.yield %o : f32
  } -> tensor<8x8xf32>
      scf.yield %n, %x : tensor<8x8xf32>, tensor<8x8xf32>
    }
    scf.yield %s#0, %s#1 : tensor<8x8xf32>, tensor<8x8xf32>
  }
  return %r#0, %r#1 : tensor<8x8xf32>, tensor<8x8xf32>
}
