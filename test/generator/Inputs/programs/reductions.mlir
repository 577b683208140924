// Reductions of every kind, and what becomes of them.

// sum then min over the same: a minimum of i8 with a partial sum widened
func.func @main(%a: tensor<6x5xi8>) -> (tensor<5xi32>) {
  %z = arith.constant dense<100> : tensor<5xi8>
  %s = linalg.reduce { arith.addi } ins(%a : tensor<6x5xi8>) outs(%z : tensor<5xi8>) dimensions = [0]
  %w = arith.extsi %s : tensor<5xi8> to tensor<5xi32>
  return %w : tensor<5xi32>
}
// -----
// pending minimum plus -inf mask
func.func @main(%a: tensor<3x5xf64>) -> (tensor<5xf64>) {
  %hi = arith.constant 0x7FF0000000000000 : f64
  %lo = arith.constant 0xFFF0000000000000 : f64
  %zero = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<5xf64>
  %f = linalg.fill ins(%hi : f64) outs(%e : tensor<5xf64>) -> tensor<5xf64>
  %m = linalg.reduce { arith.minimumf } ins(%a : tensor<3x5xf64>) outs(%f : tensor<5xf64>) dimensions = [0]
  %r = linalg.generic {indexing_maps = [affine_map<(i)->(i)>, affine_map<(i)->(i)>], iterator_types = ["parallel"]} ins(%m : tensor<5xf64>) outs(%e : tensor<5xf64>) {
  ^bb0(%x: f64, %o: f64):
    %i = linalg.index 0 : index
    %c2 = arith.constant 2 : index
    %p = arith.cmpi ult, %i, %c2 : index
    %k = arith.select %p, %lo, %zero : f64
    %s = arith.addf %x, %k : f64
    linalg.yield %s : f64
  } -> tensor<5xf64>
  return %r : tensor<5xf64>
}
// -----
// layer norm with 0-d statistics of the whole tensor, variance in one generic of two results
func.func @main(%x: tensor<5x6xf64>, %g: tensor<6xf64>) -> (tensor<5x6xf64>, tensor<f64>) {
  %z = arith.constant dense<0.0> : tensor<f64>
  %n = arith.constant 30.0 : f64
  %eps = arith.constant 1.0e-5 : f64
  %s:2 = linalg.generic {indexing_maps = [affine_map<(i,j)->(i,j)>, affine_map<(i,j)->()>, affine_map<(i,j)->()>], iterator_types = ["reduction","reduction"]} ins(%x : tensor<5x6xf64>) outs(%z, %z : tensor<f64>, tensor<f64>) {
  ^bb0(%in: f64, %o: f64, %p: f64):
    %a = arith.addf %o, %in : f64
    %q = arith.mulf %in, %in : f64
    %b = arith.addf %p, %q : f64
    linalg.yield %a, %b : f64, f64
  } -> (tensor<f64>, tensor<f64>)
  %e = tensor.empty() : tensor<5x6xf64>
  %y = linalg.generic {indexing_maps = [affine_map<(i,j)->(i,j)>, affine_map<(i,j)->()>, affine_map<(i,j)->()>, affine_map<(i,j)->(j)>, affine_map<(i,j)->(i,j)>], iterator_types = ["parallel","parallel"]} ins(%x, %s#0, %s#1, %g : tensor<5x6xf64>, tensor<f64>, tensor<f64>, tensor<6xf64>) outs(%e : tensor<5x6xf64>) {
  ^bb0(%in: f64, %a: f64, %b: f64, %c: f64, %o: f64):
    %m = arith.divf %a, %n : f64
    %v = arith.divf %b, %n : f64
    %mm = arith.mulf %m, %m : f64
    %var = arith.subf %v, %mm : f64
    %ve = arith.addf %var, %eps : f64
    %r = math.rsqrt %ve : f64
    %d = arith.subf %in, %m : f64
    %dr = arith.mulf %d, %r : f64
    %out = arith.mulf %dr, %c : f64
    linalg.yield %out : f64
  } -> tensor<5x6xf64>
  return %y, %s#0 : tensor<5x6xf64>, tensor<f64>
}
// -----
// mixed kinds in one generic: sum, max, min, product, and, or
func.func @main(%x: tensor<5x6xf64>, %i: tensor<5x6xi32>, %b: tensor<5x6xi1>) -> (tensor<6xf64>, tensor<6xf64>, tensor<6xi32>, tensor<6xi32>, tensor<6xi1>, tensor<6xi1>, tensor<6xi32>, tensor<6xi1>) {
  %z = arith.constant dense<0.0> : tensor<6xf64>
  %n = arith.constant dense<-100.0> : tensor<6xf64>
  %m = arith.constant dense<100> : tensor<6xi32>
  %o1 = arith.constant dense<1> : tensor<6xi32>
  %t = arith.constant dense<true> : tensor<6xi1>
  %f = arith.constant dense<false> : tensor<6xi1>
  %r:2 = linalg.generic {indexing_maps = [affine_map<(i,j)->(i,j)>, affine_map<(i,j)->(j)>, affine_map<(i,j)->(j)>], iterator_types = ["reduction","parallel"]} ins(%x : tensor<5x6xf64>) outs(%z, %n : tensor<6xf64>, tensor<6xf64>) {
  ^bb0(%in: f64, %o: f64, %p: f64):
    %a = arith.addf %o, %in : f64
    %q = arith.maximumf %p, %in : f64
    linalg.yield %a, %q : f64, f64
  } -> (tensor<6xf64>, tensor<6xf64>)
  %mn = linalg.reduce { arith.minsi } ins(%i : tensor<5x6xi32>) outs(%m : tensor<6xi32>) dimensions = [0]
  %pr = linalg.reduce { arith.muli } ins(%i : tensor<5x6xi32>) outs(%o1 : tensor<6xi32>) dimensions = [0]
  %an = linalg.reduce { arith.andi } ins(%b : tensor<5x6xi1>) outs(%t : tensor<6xi1>) dimensions = [0]
  %or = linalg.reduce { arith.ori } ins(%b : tensor<5x6xi1>) outs(%f : tensor<6xi1>) dimensions = [0]
  %xo = linalg.reduce { arith.xori } ins(%i : tensor<5x6xi32>) outs(%o1 : tensor<6xi32>) dimensions = [0]
  %ab = linalg.reduce { arith.addi } ins(%b : tensor<5x6xi1>) outs(%f : tensor<6xi1>) dimensions = [0]
  return %r#0, %r#1, %mn, %pr, %an, %or, %xo, %ab : tensor<6xf64>, tensor<6xf64>, tensor<6xi32>, tensor<6xi32>, tensor<6xi1>, tensor<6xi1>, tensor<6xi32>, tensor<6xi1>
}
// -----
// unsigned and saturating reductions, shifts of sums, widening of sums
func.func @main(%i: tensor<6x5xi8>, %j: tensor<6x5xi32>) -> (tensor<5xi8>, tensor<5xi8>, tensor<5xi32>, tensor<5xi32>, tensor<5xi16>, tensor<5xf64>) {
  %z8 = arith.constant dense<0> : tensor<5xi8>
  %m8 = arith.constant dense<-1> : tensor<5xi8>
  %z = arith.constant dense<3> : tensor<5xi32>
  %two = arith.constant dense<2> : tensor<5xi32>
  %mu = linalg.reduce { arith.maxui } ins(%i : tensor<6x5xi8>) outs(%z8 : tensor<5xi8>) dimensions = [0]
  %mi = linalg.reduce { arith.minui } ins(%i : tensor<6x5xi8>) outs(%m8 : tensor<5xi8>) dimensions = [0]
  %s = linalg.reduce { arith.addi } ins(%j : tensor<6x5xi32>) outs(%z : tensor<5xi32>) dimensions = [0]
  %sh = arith.shli %s, %two : tensor<5xi32>
  %sr = arith.shrsi %s, %two : tensor<5xi32>
  %mm = arith.maxui %s, %two : tensor<5xi32>
  %st = arith.trunci %mm : tensor<5xi32> to tensor<5xi16>
  %fl = arith.sitofp %s : tensor<5xi32> to tensor<5xf64>
  return %mu, %mi, %sh, %sr, %st, %fl : tensor<5xi8>, tensor<5xi8>, tensor<5xi32>, tensor<5xi32>, tensor<5xi16>, tensor<5xf64>
}
// -----
// softmax on an outer dimension of a pending value; log-softmax loss
func.func @main(%x: tensor<5x6xf64>, %w: tensor<6x7xf64>, %l: tensor<5xi64> {test.below = 7 : i64}) -> (tensor<5x7xf64>, tensor<f64>) {
  %z = arith.constant dense<0.0> : tensor<5x7xf64>
  %z1 = arith.constant dense<0.0> : tensor<5xf64>
  %z0 = arith.constant dense<0.0> : tensor<f64>
  %e = tensor.empty() : tensor<5x7xf64>
  %m = linalg.matmul ins(%x, %w : tensor<5x6xf64>, tensor<6x7xf64>) outs(%z : tensor<5x7xf64>) -> tensor<5x7xf64>
  %s = linalg.softmax dimension(0) ins(%m : tensor<5x7xf64>) outs(%e : tensor<5x7xf64>) -> tensor<5x7xf64>
  %t = linalg.softmax dimension(1) ins(%m : tensor<5x7xf64>) outs(%e : tensor<5x7xf64>) -> tensor<5x7xf64>
  %n = linalg.generic {indexing_maps = [affine_map<(i,j)->(i,j)>, affine_map<(i,j)->(i)>, affine_map<(i,j)->(i)>], iterator_types = ["parallel","reduction"]} ins(%t, %l : tensor<5x7xf64>, tensor<5xi64>) outs(%z1 : tensor<5xf64>) {
  ^bb0(%a: f64, %k: i64, %o: f64):
    %j = linalg.index 1 : index
    %ji = arith.index_cast %j : index to i64
    %p = arith.cmpi eq, %ji, %k : i64
    %lg = math.log %a : f64
    %c0 = arith.constant 0.0 : f64
    %v = arith.select %p, %lg, %c0 : f64
    %r = arith.subf %o, %v : f64
    linalg.yield %r : f64
  } -> tensor<5xf64>
  %loss = linalg.reduce { arith.addf } ins(%n : tensor<5xf64>) outs(%z0 : tensor<f64>) dimensions = [0]
  return %s, %loss : tensor<5x7xf64>, tensor<f64>
}
// -----
// sums that are added, scaled, joined, sliced, reshaped, transposed before they are needed whole
func.func @main(%x: tensor<4x6xf64>, %v: tensor<6x8xf64>, %w: tensor<6x8xf64>) -> (tensor<8x8xf64>, tensor<4x2x2x2xf64>) {
  %z = arith.constant dense<0.0> : tensor<4x8xf64>
  %h = arith.constant dense<0.25> : tensor<4x8xf64>
  %a = linalg.matmul ins(%x, %v : tensor<4x6xf64>, tensor<6x8xf64>) outs(%z : tensor<4x8xf64>) -> tensor<4x8xf64>
  %b = linalg.matmul ins(%x, %w : tensor<4x6xf64>, tensor<6x8xf64>) outs(%a : tensor<4x8xf64>) -> tensor<4x8xf64>
  %c = arith.mulf %b, %h : tensor<4x8xf64>
  %d = arith.subf %c, %a : tensor<4x8xf64>
  %e = tensor.concat dim(0) %c, %d : (tensor<4x8xf64>, tensor<4x8xf64>) -> tensor<8x8xf64>
  %s = tensor.extract_slice %e[4, 0] [4, 8] [1, 1] : tensor<8x8xf64> to tensor<4x8xf64>
  %r = tensor.expand_shape %s [[0], [1, 2, 3]] output_shape [4, 2, 2, 2] : tensor<4x8xf64> into tensor<4x2x2x2xf64>
  %et = tensor.empty() : tensor<4x2x2x2xf64>
  %t = linalg.transpose ins(%r : tensor<4x2x2x2xf64>) outs(%et : tensor<4x2x2x2xf64>) permutation = [0, 3, 1, 2]
  %q = math.tanh %t : tensor<4x2x2x2xf64>
  return %e, %q : tensor<8x8xf64>, tensor<4x2x2x2xf64>
}
// -----
// empty tensors through reductions, concatenation, reshapes, matmuls of no columns
func.func @main(%x: tensor<0x4xf64>, %y: tensor<5x0xf64>, %w: tensor<0x4xf64>) -> (tensor<4xf64>, tensor<5x4xf64>, tensor<0x2x2xf64>, tensor<0xf64>) {
  %o = arith.constant dense<1.0> : tensor<4xf64>
  %z = arith.constant dense<2.0> : tensor<5x4xf64>
  %s = linalg.reduce { arith.mulf } ins(%x : tensor<0x4xf64>) outs(%o : tensor<4xf64>) dimensions = [0]
  %m = linalg.matmul ins(%y, %w : tensor<5x0xf64>, tensor<0x4xf64>) outs(%z : tensor<5x4xf64>) -> tensor<5x4xf64>
  %e = tensor.expand_shape %x [[0], [1, 2]] output_shape [0, 2, 2] : tensor<0x4xf64> into tensor<0x2x2xf64>
  %c = tensor.collapse_shape %x [[0, 1]] : tensor<0x4xf64> into tensor<0xf64>
  return %s, %m, %e, %c : tensor<4xf64>, tensor<5x4xf64>, tensor<0x2x2xf64>, tensor<0xf64>
}
// -----
// the second result sums the running sums of the first: their loop has an order
func.func @main(%x: tensor<12xf64>) -> (tensor<f64>, tensor<f64>) {
  %z = arith.constant dense<0.0> : tensor<f64>
  %a, %b = linalg.generic {indexing_maps = [affine_map<(i)->(i)>, affine_map<(i)->()>, affine_map<(i)->()>], iterator_types = ["reduction"]}
      ins(%x : tensor<12xf64>) outs(%z, %z : tensor<f64>, tensor<f64>) {
  ^bb0(%v: f64, %p: f64, %q: f64):
    %s = arith.addf %p, %v : f64
    %t = arith.addf %q, %s : f64
    linalg.yield %s, %t : f64, f64
  } -> (tensor<f64>, tensor<f64>)
  return %a, %b : tensor<f64>, tensor<f64>
}
// -----
// two loops whose order matters, over an operand that lies the other way round: a recurrence, the last one, running sums
func.func @main(%x: tensor<3x5xf64>) -> (tensor<f64>, tensor<f64>, tensor<f64>) {
  %z = arith.constant dense<0.0> : tensor<f64>
  %d = linalg.generic {indexing_maps = [affine_map<(i, j)->(j, i)>, affine_map<(i, j)->()>], iterator_types = ["reduction", "reduction"]}
      ins(%x : tensor<3x5xf64>) outs(%z : tensor<f64>) {
  ^bb0(%v: f64, %p: f64):
    %h = arith.constant 0.5 : f64
    %s = arith.mulf %p, %h : f64
    %t = arith.addf %s, %v : f64
    linalg.yield %t : f64
  } -> tensor<f64>
  %e = linalg.generic {indexing_maps = [affine_map<(i, j)->(j, i)>, affine_map<(i, j)->()>], iterator_types = ["reduction", "reduction"]}
      ins(%x : tensor<3x5xf64>) outs(%z : tensor<f64>) {
  ^bb0(%v: f64, %p: f64):
    linalg.yield %v : f64
  } -> tensor<f64>
  %f, %g = linalg.generic {indexing_maps = [affine_map<(i, j)->(j, i)>, affine_map<(i, j)->()>, affine_map<(i, j)->()>], iterator_types = ["reduction", "reduction"]}
      ins(%x : tensor<3x5xf64>) outs(%z, %z : tensor<f64>, tensor<f64>) {
  ^bb0(%v: f64, %p: f64, %q: f64):
    %s = arith.addf %p, %v : f64
    %t = arith.addf %q, %s : f64
    linalg.yield %s, %t : f64, f64
  } -> (tensor<f64>, tensor<f64>)
  return %d, %e, %g : tensor<f64>, tensor<f64>, tensor<f64>
}
