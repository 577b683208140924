// Parts of models.

// attention block as torch-mlir writes it: batch_matmul, softmax by generics, transposes, expand/collapse
#id4 = affine_map<(a,b,c,d)->(a,b,c,d)>
#red = affine_map<(a,b,c,d)->(a,b,c,0)>
func.func @main(%x: tensor<2x6x12xf64>, %wq: tensor<12x12xf64>, %wk: tensor<12x12xf64>, %wv: tensor<12x12xf64>, %wo: tensor<12x12xf64>, %mask: tensor<2x1x1x6xi1>) -> tensor<2x6x12xf64> {
  %z = arith.constant 0.0 : f64
  %ninf = arith.constant 0xFFF0000000000000 : f64
  %big = arith.constant -1.0e30 : f64
  %sc = arith.constant 0.5 : f64
  %c0 = arith.constant 0 : i64
  %x2 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<2x6x12xf64> into tensor<12x12xf64>
  %e2 = tensor.empty() : tensor<12x12xf64>
  %f2 = linalg.fill ins(%z : f64) outs(%e2 : tensor<12x12xf64>) -> tensor<12x12xf64>
  %q2 = linalg.matmul ins(%x2, %wq : tensor<12x12xf64>, tensor<12x12xf64>) outs(%f2 : tensor<12x12xf64>) -> tensor<12x12xf64>
  %k2 = linalg.matmul ins(%x2, %wk : tensor<12x12xf64>, tensor<12x12xf64>) outs(%f2 : tensor<12x12xf64>) -> tensor<12x12xf64>
  %v2 = linalg.matmul ins(%x2, %wv : tensor<12x12xf64>, tensor<12x12xf64>) outs(%f2 : tensor<12x12xf64>) -> tensor<12x12xf64>
  %q4 = tensor.expand_shape %q2 [[0, 1], [2, 3]] output_shape [2, 6, 3, 4] : tensor<12x12xf64> into tensor<2x6x3x4xf64>
  %k4 = tensor.expand_shape %k2 [[0, 1], [2, 3]] output_shape [2, 6, 3, 4] : tensor<12x12xf64> into tensor<2x6x3x4xf64>
  %v4 = tensor.expand_shape %v2 [[0, 1], [2, 3]] output_shape [2, 6, 3, 4] : tensor<12x12xf64> into tensor<2x6x3x4xf64>
  %et = tensor.empty() : tensor<2x3x6x4xf64>
  %ek = tensor.empty() : tensor<2x3x4x6xf64>
  %qt = linalg.transpose ins(%q4 : tensor<2x6x3x4xf64>) outs(%et : tensor<2x3x6x4xf64>) permutation = [0, 2, 1, 3]
  %kt = linalg.transpose ins(%k4 : tensor<2x6x3x4xf64>) outs(%ek : tensor<2x3x4x6xf64>) permutation = [0, 2, 3, 1]
  %vt = linalg.transpose ins(%v4 : tensor<2x6x3x4xf64>) outs(%et : tensor<2x3x6x4xf64>) permutation = [0, 2, 1, 3]
  %q3 = tensor.collapse_shape %qt [[0, 1], [2], [3]] : tensor<2x3x6x4xf64> into tensor<6x6x4xf64>
  %k3 = tensor.collapse_shape %kt [[0, 1], [2], [3]] : tensor<2x3x4x6xf64> into tensor<6x4x6xf64>
  %v3 = tensor.collapse_shape %vt [[0, 1], [2], [3]] : tensor<2x3x6x4xf64> into tensor<6x6x4xf64>
  %es = tensor.empty() : tensor<6x6x6xf64>
  %fs = linalg.fill ins(%z : f64) outs(%es : tensor<6x6x6xf64>) -> tensor<6x6x6xf64>
  %s3 = linalg.batch_matmul ins(%q3, %k3 : tensor<6x6x4xf64>, tensor<6x4x6xf64>) outs(%fs : tensor<6x6x6xf64>) -> tensor<6x6x6xf64>
  %s4 = tensor.expand_shape %s3 [[0, 1], [2], [3]] output_shape [2, 3, 6, 6] : tensor<6x6x6xf64> into tensor<2x3x6x6xf64>
  %e4 = tensor.empty() : tensor<2x3x6x6xf64>
  %er = tensor.empty() : tensor<2x3x6x1xf64>
  %ei = tensor.empty() : tensor<2x3x6x1xi64>
  %m4 = linalg.generic {indexing_maps = [#id4, affine_map<(a,b,c,d)->(a,0,0,d)>, #id4], iterator_types = ["parallel","parallel","parallel","parallel"]} ins(%s4, %mask : tensor<2x3x6x6xf64>, tensor<2x1x1x6xi1>) outs(%e4 : tensor<2x3x6x6xf64>) {
  ^bb0(%in: f64, %p: i1, %out: f64):
    %0 = arith.mulf %in, %sc : f64
    %r = linalg.index 2 : index
    %c = linalg.index 3 : index
    %causal = arith.cmpi ule, %c, %r : index
    %ok = arith.andi %p, %causal : i1
    %1 = arith.select %ok, %0, %big : f64
    linalg.yield %1 : f64
  } -> tensor<2x3x6x6xf64>
  %fi = linalg.fill ins(%c0 : i64) outs(%ei : tensor<2x3x6x1xi64>) -> tensor<2x3x6x1xi64>
  %fm = linalg.fill ins(%ninf : f64) outs(%er : tensor<2x3x6x1xf64>) -> tensor<2x3x6x1xf64>
  %mx:2 = linalg.generic {indexing_maps = [#id4, #red, #red], iterator_types = ["parallel","parallel","parallel","reduction"]} ins(%m4 : tensor<2x3x6x6xf64>) outs(%fm, %fi : tensor<2x3x6x1xf64>, tensor<2x3x6x1xi64>) {
  ^bb0(%in: f64, %out: f64, %oi: i64):
    %i = linalg.index 3 : index
    %ic = arith.index_cast %i : index to i64
    %a = arith.maximumf %in, %out : f64
    %g = arith.cmpf ogt, %in, %out : f64
    %sel = arith.select %g, %ic, %oi : i64
    linalg.yield %a, %sel : f64, i64
  } -> (tensor<2x3x6x1xf64>, tensor<2x3x6x1xi64>)
  %ex = linalg.generic {indexing_maps = [#id4, #red, #id4], iterator_types = ["parallel","parallel","parallel","parallel"]} ins(%m4, %mx#0 : tensor<2x3x6x6xf64>, tensor<2x3x6x1xf64>) outs(%e4 : tensor<2x3x6x6xf64>) {
  ^bb0(%in: f64, %m: f64, %out: f64):
    %d = arith.subf %in, %m : f64
    %e = math.exp %d : f64
    linalg.yield %e : f64
  } -> tensor<2x3x6x6xf64>
  %f0 = linalg.fill ins(%z : f64) outs(%er : tensor<2x3x6x1xf64>) -> tensor<2x3x6x1xf64>
  %sm = linalg.generic {indexing_maps = [#id4, #red], iterator_types = ["parallel","parallel","parallel","reduction"]} ins(%ex : tensor<2x3x6x6xf64>) outs(%f0 : tensor<2x3x6x1xf64>) {
  ^bb0(%in: f64, %out: f64):
    %a = arith.addf %in, %out : f64
    linalg.yield %a : f64
  } -> tensor<2x3x6x1xf64>
  %pr = linalg.generic {indexing_maps = [#id4, #red, #id4], iterator_types = ["parallel","parallel","parallel","parallel"]} ins(%ex, %sm : tensor<2x3x6x6xf64>, tensor<2x3x6x1xf64>) outs(%e4 : tensor<2x3x6x6xf64>) {
  ^bb0(%in: f64, %m: f64, %out: f64):
    %d = arith.divf %in, %m : f64
    linalg.yield %d : f64
  } -> tensor<2x3x6x6xf64>
  %p3 = tensor.collapse_shape %pr [[0, 1], [2], [3]] : tensor<2x3x6x6xf64> into tensor<6x6x6xf64>
  %eo = tensor.empty() : tensor<6x6x4xf64>
  %fo = linalg.fill ins(%z : f64) outs(%eo : tensor<6x6x4xf64>) -> tensor<6x6x4xf64>
  %o3 = linalg.batch_matmul ins(%p3, %v3 : tensor<6x6x6xf64>, tensor<6x6x4xf64>) outs(%fo : tensor<6x6x4xf64>) -> tensor<6x6x4xf64>
  %o4 = tensor.expand_shape %o3 [[0, 1], [2], [3]] output_shape [2, 3, 6, 4] : tensor<6x6x4xf64> into tensor<2x3x6x4xf64>
  %eot = tensor.empty() : tensor<2x6x3x4xf64>
  %ot = linalg.transpose ins(%o4 : tensor<2x3x6x4xf64>) outs(%eot : tensor<2x6x3x4xf64>) permutation = [0, 2, 1, 3]
  %o2 = tensor.collapse_shape %ot [[0, 1], [2, 3]] : tensor<2x6x3x4xf64> into tensor<12x12xf64>
  %y2 = linalg.matmul ins(%o2, %wo : tensor<12x12xf64>, tensor<12x12xf64>) outs(%f2 : tensor<12x12xf64>) -> tensor<12x12xf64>
  %y = tensor.expand_shape %y2 [[0, 1], [2]] output_shape [2, 6, 12] : tensor<12x12xf64> into tensor<2x6x12xf64>
  %h = arith.addf %y, %x : tensor<2x6x12xf64>
  return %h : tensor<2x6x12xf64>
}
// -----
// mixture of experts: router, top-1 by argmax generic, gather of experts' weights, weighted sum, scatter back
func.func @main(%x: tensor<10x6xf64>, %wr: tensor<6x4xf64>, %we: tensor<4x6x5xf64>) -> (tensor<10x5xf64>, tensor<4x5xf64>) {
  %z = arith.constant 0.0 : f64
  %c0 = arith.constant 0 : i64
  %ninf = arith.constant 0xFFF0000000000000 : f64
  %e = tensor.empty() : tensor<10x4xf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<10x4xf64>) -> tensor<10x4xf64>
  %l = linalg.matmul ins(%x, %wr : tensor<10x6xf64>, tensor<6x4xf64>) outs(%f : tensor<10x4xf64>) -> tensor<10x4xf64>
  %em = tensor.empty() : tensor<10xf64>
  %ei = tensor.empty() : tensor<10xi64>
  %fm = linalg.fill ins(%ninf : f64) outs(%em : tensor<10xf64>) -> tensor<10xf64>
  %fi = linalg.fill ins(%c0 : i64) outs(%ei : tensor<10xi64>) -> tensor<10xi64>
  %am:2 = linalg.generic {indexing_maps = [affine_map<(i,j)->(i,j)>, affine_map<(i,j)->(i)>, affine_map<(i,j)->(i)>], iterator_types = ["parallel","reduction"]} ins(%l : tensor<10x4xf64>) outs(%fm, %fi : tensor<10xf64>, tensor<10xi64>) {
  ^bb0(%in: f64, %m: f64, %n: i64):
    %k = linalg.index 1 : index
    %ki = arith.index_cast %k : index to i64
    %p = arith.cmpf ogt, %in, %m : f64
    %s = arith.select %p, %in, %m : f64
    %t = arith.select %p, %ki, %n : i64
    linalg.yield %s, %t : f64, i64
  } -> (tensor<10xf64>, tensor<10xi64>)
  %ix = tensor.expand_shape %am#1 [[0, 1]] output_shape [10, 1] : tensor<10xi64> into tensor<10x1xi64>
  %wt = tensor.gather %we[%ix] gather_dims([0]) : (tensor<4x6x5xf64>, tensor<10x1xi64>) -> tensor<10x6x5xf64>
  %ey = tensor.empty() : tensor<10x5xf64>
  %fy = linalg.fill ins(%z : f64) outs(%ey : tensor<10x5xf64>) -> tensor<10x5xf64>
  %y = linalg.generic {indexing_maps = [affine_map<(i,j,k)->(i,k)>, affine_map<(i,j,k)->(i,k,j)>, affine_map<(i,j,k)->(i,j)>], iterator_types = ["parallel","parallel","reduction"]} ins(%x, %wt : tensor<10x6xf64>, tensor<10x6x5xf64>) outs(%fy : tensor<10x5xf64>) {
  ^bb0(%a: f64, %b: f64, %o: f64):
    %m = arith.mulf %a, %b : f64
    %s = arith.addf %o, %m : f64
    linalg.yield %s : f64
  } -> tensor<10x5xf64>
  %g = linalg.generic {indexing_maps = [affine_map<(i,j)->(i,j)>, affine_map<(i,j)->(i)>, affine_map<(i,j)->(i,j)>], iterator_types = ["parallel","parallel"]} ins(%y, %am#0 : tensor<10x5xf64>, tensor<10xf64>) outs(%ey : tensor<10x5xf64>) {
  ^bb0(%a: f64, %b: f64, %o: f64):
    %m = arith.mulf %a, %b : f64
    linalg.yield %m : f64
  } -> tensor<10x5xf64>
  %oh = linalg.generic {indexing_maps = [affine_map<(i,j)->(i)>, affine_map<(i,j)->(i,j)>], iterator_types = ["parallel","parallel"]} ins(%am#1 : tensor<10xi64>) outs(%e : tensor<10x4xf64>) {
  ^bb0(%a: i64, %o: f64):
    %k = linalg.index 1 : index
    %ki = arith.index_cast %k : index to i64
    %p = arith.cmpi eq, %ki, %a : i64
    %s = arith.uitofp %p : i1 to f64
    linalg.yield %s : f64
  } -> tensor<10x4xf64>
  %ec = tensor.empty() : tensor<4x5xf64>
  %fc = linalg.fill ins(%z : f64) outs(%ec : tensor<4x5xf64>) -> tensor<4x5xf64>
  %c = linalg.contract indexing_maps = [affine_map<(t,e,d)->(t,e)>, affine_map<(t,e,d)->(t,d)>, affine_map<(t,e,d)->(e,d)>] ins(%oh, %g : tensor<10x4xf64>, tensor<10x5xf64>) outs(%fc : tensor<4x5xf64>) -> tensor<4x5xf64>
  return %g, %c : tensor<10x5xf64>, tensor<4x5xf64>
}
