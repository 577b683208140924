// Loops, branches and calls.

// cumsum by scf.for with extract_slice and insert_slice
func.func @main(%x: tensor<7x5xf64>) -> tensor<7x5xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %z = arith.constant dense<0.0> : tensor<1x5xf64>
  %e = tensor.empty() : tensor<7x5xf64>
  %r:2 = scf.for %i = %c0 to %c7 step %c1 iter_args(%acc = %z, %out = %e) -> (tensor<1x5xf64>, tensor<7x5xf64>) {
    %s = tensor.extract_slice %x[%i, 0] [1, 5] [1, 1] : tensor<7x5xf64> to tensor<1x5xf64>
    %a = arith.addf %acc, %s : tensor<1x5xf64>
    %o = tensor.insert_slice %a into %out[%i, 0] [1, 5] [1, 1] : tensor<1x5xf64> into tensor<7x5xf64>
    scf.yield %a, %o : tensor<1x5xf64>, tensor<7x5xf64>
  }
  return %r#1 : tensor<7x5xf64>
}
// -----
// newton iteration: while with a convergence test on a reduced scalar
func.func @main(%x: tensor<9xf64>) -> (tensor<9xf64>, tensor<i32>) {
  %half = arith.constant dense<0.5> : tensor<9xf64>
  %one = arith.constant dense<1.0> : tensor<9xf64>
  %eps = arith.constant 1.0e-2 : f64
  %z = arith.constant dense<0.0> : tensor<f64>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c30 = arith.constant 30 : i32
  %r:3 = scf.while (%y = %one, %d = %x, %n = %c0) : (tensor<9xf64>, tensor<9xf64>, i32) -> (tensor<9xf64>, tensor<9xf64>, i32) {
    %a = math.absf %d : tensor<9xf64>
    %s = linalg.reduce { arith.maximumf } ins(%a : tensor<9xf64>) outs(%z : tensor<f64>) dimensions = [0]
    %v = tensor.extract %s[] : tensor<f64>
    %p = arith.cmpf ogt, %v, %eps : f64
    %q = arith.cmpi slt, %n, %c30 : i32
    %pq = arith.andi %p, %q : i1
    scf.condition(%pq) %y, %d, %n : tensor<9xf64>, tensor<9xf64>, i32
  } do {
  ^bb0(%y: tensor<9xf64>, %d: tensor<9xf64>, %n: i32):
    %yy = arith.mulf %y, %y : tensor<9xf64>
    %t = arith.addf %yy, %x : tensor<9xf64>
    %y2 = arith.mulf %t, %half : tensor<9xf64>
    %y3 = math.tanh %y2 : tensor<9xf64>
    %d2 = arith.subf %y3, %y : tensor<9xf64>
    %n2 = arith.addi %n, %c1 : i32
    scf.yield %y3, %d2, %n2 : tensor<9xf64>, tensor<9xf64>, i32
  }
  %ni = tensor.from_elements %r#2 : tensor<i32>
  return %r#0, %ni : tensor<9xf64>, tensor<i32>
}
// -----
// odd-even transposition sort in two nested loops of selects
func.func @main(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c5 = arith.constant 5 : index
  %c6 = arith.constant 6 : index
  %r = scf.for %i = %c0 to %c6 step %c1 iter_args(%a = %x) -> tensor<4x6xf64> {
    %odd = arith.remui %i, %c2 : index
    %b = scf.for %j = %odd to %c5 step %c2 iter_args(%t = %a) -> tensor<4x6xf64> {
      %j1 = arith.addi %j, %c1 : index
      %u = tensor.extract_slice %t[0, %j] [4, 1] [1, 1] : tensor<4x6xf64> to tensor<4xf64>
      %v = tensor.extract_slice %t[0, %j1] [4, 1] [1, 1] : tensor<4x6xf64> to tensor<4xf64>
      %lo = arith.minimumf %u, %v : tensor<4xf64>
      %hi = arith.maximumf %u, %v : tensor<4xf64>
      %t1 = tensor.insert_slice %lo into %t[0, %j] [4, 1] [1, 1] : tensor<4xf64> into tensor<4x6xf64>
      %t2 = tensor.insert_slice %hi into %t1[0, %j1] [4, 1] [1, 1] : tensor<4xf64> into tensor<4x6xf64>
      scf.yield %t2 : tensor<4x6xf64>
    }
    scf.yield %b : tensor<4x6xf64>
  }
  return %r : tensor<4x6xf64>
}
// -----
// beam search: scores added to all next scores, top-k by repeated argmax, reordering by gather
func.func @main(%s: tensor<3xf64>, %n: tensor<3x8xf64>, %h: tensor<3x5xi64>) -> (tensor<3xf64>, tensor<3xi64>, tensor<3x5xi64>) {
  %ninf = arith.constant 0xFFF0000000000000 : f64
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c8 = arith.constant 8 : i64
  %ci0 = arith.constant 0 : i64
  %e = tensor.empty() : tensor<3x8xf64>
  %t = linalg.generic {indexing_maps = [affine_map<(i,j)->(i)>, affine_map<(i,j)->(i,j)>, affine_map<(i,j)->(i,j)>], iterator_types = ["parallel","parallel"]} ins(%s, %n : tensor<3xf64>, tensor<3x8xf64>) outs(%e : tensor<3x8xf64>) {
  ^bb0(%a: f64, %b: f64, %o: f64):
    %m = arith.addf %a, %b : f64
    linalg.yield %m : f64
  } -> tensor<3x8xf64>
  %flat = tensor.collapse_shape %t [[0, 1]] : tensor<3x8xf64> into tensor<24xf64>
  %em = tensor.empty() : tensor<f64>
  %ei = tensor.empty() : tensor<i64>
  %e3 = tensor.empty() : tensor<3xf64>
  %e3i = tensor.empty() : tensor<3xi64>
  %r:3 = scf.for %k = %c0 to %c3 step %c1 iter_args(%f = %flat, %vals = %e3, %ids = %e3i) -> (tensor<24xf64>, tensor<3xf64>, tensor<3xi64>) {
    %fm = linalg.fill ins(%ninf : f64) outs(%em : tensor<f64>) -> tensor<f64>
    %fi = linalg.fill ins(%ci0 : i64) outs(%ei : tensor<i64>) -> tensor<i64>
    %am:2 = linalg.generic {indexing_maps = [affine_map<(i)->(i)>, affine_map<(i)->()>, affine_map<(i)->()>], iterator_types = ["reduction"]} ins(%f : tensor<24xf64>) outs(%fm, %fi : tensor<f64>, tensor<i64>) {
    ^bb0(%in: f64, %m: f64, %q: i64):
      %i = linalg.index 0 : index
      %ii = arith.index_cast %i : index to i64
      %p = arith.cmpf ogt, %in, %m : f64
      %x = arith.select %p, %in, %m : f64
      %y = arith.select %p, %ii, %q : i64
      linalg.yield %x, %y : f64, i64
    } -> (tensor<f64>, tensor<i64>)
    %v = tensor.extract %am#0[] : tensor<f64>
    %i = tensor.extract %am#1[] : tensor<i64>
    %ix = arith.index_cast %i : i64 to index
    %vals2 = tensor.insert %v into %vals[%k] : tensor<3xf64>
    %ids2 = tensor.insert %i into %ids[%k] : tensor<3xi64>
    %f2 = tensor.insert %ninf into %f[%ix] : tensor<24xf64>
    scf.yield %f2, %vals2, %ids2 : tensor<24xf64>, tensor<3xf64>, tensor<3xi64>
  }
  %d8 = arith.constant dense<8> : tensor<3xi64>
  %beam = arith.divsi %r#2, %d8 : tensor<3xi64>
  %tok = arith.remsi %r#2, %d8 : tensor<3xi64>
  %bx = tensor.expand_shape %beam [[0, 1]] output_shape [3, 1] : tensor<3xi64> into tensor<3x1xi64>
  %hh = tensor.gather %h[%bx] gather_dims([0]) : (tensor<3x5xi64>, tensor<3x1xi64>) -> tensor<3x5xi64>
  return %r#1, %tok, %hh : tensor<3xf64>, tensor<3xi64>, tensor<3x5xi64>
}
// -----
// a tree of calls: one callee called with several things, calling others
func.func @main(%a: tensor<6x4xf64>, %b: tensor<6x4xf64>, %w: tensor<4x4xf64>) -> (tensor<6x4xf64>, tensor<6x4xf64>) {
  %0 = call @layer(%a, %w) : (tensor<6x4xf64>, tensor<4x4xf64>) -> tensor<6x4xf64>
  %1 = call @layer(%b, %w) : (tensor<6x4xf64>, tensor<4x4xf64>) -> tensor<6x4xf64>
  %2 = call @layer(%1, %w) : (tensor<6x4xf64>, tensor<4x4xf64>) -> tensor<6x4xf64>
  %3, %4 = call @swap(%0, %2) : (tensor<6x4xf64>, tensor<6x4xf64>) -> (tensor<6x4xf64>, tensor<6x4xf64>)
  return %3, %4 : tensor<6x4xf64>, tensor<6x4xf64>
}
func.func private @layer(%x: tensor<6x4xf64>, %w: tensor<4x4xf64>) -> tensor<6x4xf64> {
  %z = arith.constant dense<0.0> : tensor<6x4xf64>
  %y = linalg.matmul ins(%x, %w : tensor<6x4xf64>, tensor<4x4xf64>) outs(%z : tensor<6x4xf64>) -> tensor<6x4xf64>
  %r = call @relu(%y) : (tensor<6x4xf64>) -> tensor<6x4xf64>
  %s = arith.addf %r, %x : tensor<6x4xf64>
  return %s : tensor<6x4xf64>
}
func.func private @relu(%x: tensor<6x4xf64>) -> tensor<6x4xf64> {
  %z = arith.constant dense<0.0> : tensor<6x4xf64>
  %y = arith.maximumf %x, %z : tensor<6x4xf64>
  return %y : tensor<6x4xf64>
}
func.func private @swap(%x: tensor<6x4xf64>, %y: tensor<6x4xf64>) -> (tensor<6x4xf64>, tensor<6x4xf64>) {
  return %y, %x : tensor<6x4xf64>, tensor<6x4xf64>
}
// -----
// a while whose two parts carry different things in different orders
func.func @main(%x: tensor<6x4xf64>, %y: tensor<4xf64>) -> (tensor<6xf64>, tensor<6x4xf64>) {
  %z = arith.constant dense<0.0> : tensor<6xf64>
  %zs = arith.constant dense<0.0> : tensor<f64>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %h = arith.constant dense<0.5> : tensor<6x4xf64>
  %r:3 = scf.while (%a = %x, %n = %c0) : (tensor<6x4xf64>, index) -> (tensor<6xf64>, tensor<6x4xf64>, index) {
    %s = linalg.reduce { arith.addf } ins(%a : tensor<6x4xf64>) outs(%z : tensor<6xf64>) dimensions = [1]
    %p = arith.cmpi ult, %n, %c3 : index
    scf.condition(%p) %s, %a, %n : tensor<6xf64>, tensor<6x4xf64>, index
  } do {
  ^bb0(%s: tensor<6xf64>, %a: tensor<6x4xf64>, %n: index):
    %e = tensor.empty() : tensor<6x4xf64>
    %b = linalg.broadcast ins(%s : tensor<6xf64>) outs(%e : tensor<6x4xf64>) dimensions = [1]
    %c = arith.addf %a, %b : tensor<6x4xf64>
    %d = arith.mulf %c, %h : tensor<6x4xf64>
    %n1 = arith.addi %n, %c1 : index
    scf.yield %d, %n1 : tensor<6x4xf64>, index
  }
  return %r#0, %r#1 : tensor<6xf64>, tensor<6x4xf64>
}
// -----
// loops: buffers that change places, a pending sum at the yield, no iterations
func.func @main(%x: tensor<6x6xf64>, %y: tensor<6x6xf64>) -> (tensor<6x6xf64>, tensor<6x6xf64>, tensor<6x6xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %z = arith.constant dense<0.0> : tensor<6x6xf64>
  %h = arith.constant dense<0.125> : tensor<6x6xf64>
  %r:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x, %b = %y) -> (tensor<6x6xf64>, tensor<6x6xf64>) {
    %m = linalg.matmul ins(%a, %b : tensor<6x6xf64>, tensor<6x6xf64>) outs(%z : tensor<6x6xf64>) -> tensor<6x6xf64>
    %n = arith.mulf %m, %h : tensor<6x6xf64>
    scf.yield %b, %n : tensor<6x6xf64>, tensor<6x6xf64>
  }
  %q = scf.for %i = %c3 to %c0 step %c1 iter_args(%a = %x) -> (tensor<6x6xf64>) {
    %m = arith.addf %a, %r#0 : tensor<6x6xf64>
    scf.yield %m : tensor<6x6xf64>
  }
  return %r#0, %r#1, %q : tensor<6x6xf64>, tensor<6x6xf64>, tensor<6x6xf64>
}
// -----
// branches on a reduced value, nested, one passing through
func.func @main(%x: tensor<6x4xf64>, %y: tensor<6x4xf64>) -> (tensor<6x4xf64>, tensor<4xf64>) {
  %z = arith.constant dense<0.0> : tensor<f64>
  %z4 = arith.constant dense<0.0> : tensor<4xf64>
  %c0 = arith.constant 0.0 : f64
  %s = linalg.reduce { arith.addf } ins(%x : tensor<6x4xf64>) outs(%z : tensor<f64>) dimensions = [0, 1]
  %v = tensor.extract %s[] : tensor<f64>
  %p = arith.cmpf olt, %v, %c0 : f64
  %r:2 = scf.if %p -> (tensor<6x4xf64>, tensor<4xf64>) {
    %a = linalg.reduce { arith.addf } ins(%y : tensor<6x4xf64>) outs(%z4 : tensor<4xf64>) dimensions = [0]
    scf.yield %x, %a : tensor<6x4xf64>, tensor<4xf64>
  } else {
    %t = arith.addf %x, %y : tensor<6x4xf64>
    %u = linalg.reduce { arith.maximumf } ins(%t : tensor<6x4xf64>) outs(%z4 : tensor<4xf64>) dimensions = [0]
    %w = scf.if %p -> (tensor<6x4xf64>) {
      scf.yield %y : tensor<6x4xf64>
    } else {
      %m = arith.mulf %t, %t : tensor<6x4xf64>
      scf.yield %m : tensor<6x4xf64>
    }
    scf.yield %w, %u : tensor<6x4xf64>, tensor<4xf64>
  }
  return %r#0, %r#1 : tensor<6x4xf64>, tensor<4xf64>
}
