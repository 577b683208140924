// Bodies and indexing maps of generics and other structured ops.

// a contraction whose operands go through functions that do not keep zero
func.func @main(%a: tensor<6x5xf64>, %b: tensor<5x4xf64>) -> tensor<6x4xf64> {
  %z = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<6x4xf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<6x4xf64>) -> tensor<6x4xf64>
  %r = linalg.generic {indexing_maps = [affine_map<(i,j,k)->(i,k)>, affine_map<(i,j,k)->(k,j)>, affine_map<(i,j,k)->(i,j)>], iterator_types = ["parallel","parallel","reduction"]} ins(%a, %b : tensor<6x5xf64>, tensor<5x4xf64>) outs(%f : tensor<6x4xf64>) {
  ^bb0(%x: f64, %y: f64, %o: f64):
    %p = math.exp %x : f64
    %q = math.cos %y : f64
    %m = arith.mulf %p, %q : f64
    %s = arith.addf %o, %m : f64
    linalg.yield %s : f64
  } -> tensor<6x4xf64>
  return %r : tensor<6x4xf64>
}
// -----
// row and column sums at once
func.func @main(%a: tensor<6x5xf64>, %c0: tensor<6xf64>, %c1: tensor<5xf64>) -> (tensor<6xf64>, tensor<5xf64>) {
  %r:2 = linalg.generic {indexing_maps = [affine_map<(i,j)->(i,j)>, affine_map<(i,j)->(i)>, affine_map<(i,j)->(j)>], iterator_types = ["reduction","reduction"]} ins(%a : tensor<6x5xf64>) outs(%c0, %c1 : tensor<6xf64>, tensor<5xf64>) {
  ^bb0(%x: f64, %o: f64, %p: f64):
    %s = arith.addf %o, %x : f64
    %t = arith.addf %p, %x : f64
    linalg.yield %s, %t : f64, f64
  } -> (tensor<6xf64>, tensor<5xf64>)
  return %r#0, %r#1 : tensor<6xf64>, tensor<5xf64>
}
// -----
// row sums and an elementwise accumulation at once
func.func @main(%a: tensor<6x5xf64>, %c0: tensor<6xf64>, %c1: tensor<6x5xf64>) -> (tensor<6xf64>, tensor<6x5xf64>) {
  %r:2 = linalg.generic {indexing_maps = [affine_map<(i,j)->(i,j)>, affine_map<(i,j)->(i)>, affine_map<(i,j)->(i,j)>], iterator_types = ["parallel","reduction"]} ins(%a : tensor<6x5xf64>) outs(%c0, %c1 : tensor<6xf64>, tensor<6x5xf64>) {
  ^bb0(%x: f64, %o: f64, %p: f64):
    %s = arith.addf %o, %x : f64
    %t = arith.addf %p, %x : f64
    linalg.yield %s, %t : f64, f64
  } -> (tensor<6xf64>, tensor<6x5xf64>)
  return %r#0, %r#1 : tensor<6xf64>, tensor<6x5xf64>
}
// -----
// running sum: a reduction loop that indexes the result
func.func @main(%a: tensor<6x5xf64>, %c1: tensor<6x5xf64>) -> (tensor<6x5xf64>) {
  %r = linalg.generic {indexing_maps = [affine_map<(i,j)->(i,j)>, affine_map<(i,j)->(i,j)>], iterator_types = ["reduction","reduction"]} ins(%a : tensor<6x5xf64>) outs(%c1 : tensor<6x5xf64>) {
  ^bb0(%x: f64, %p: f64):
    %t = arith.addf %p, %x : f64
    linalg.yield %t : f64
  } -> (tensor<6x5xf64>)
  return %r : tensor<6x5xf64>
}
// -----
// overlapping windows summed into the result: result indexed by d0 + d1 (transposed convolution)
func.func @main(%a: tensor<6x3xf64>, %w: tensor<4x3xf64>, %c1: tensor<9xf64>) -> (tensor<9xf64>) {
  %r = linalg.generic {indexing_maps = [affine_map<(i,j,k)->(i,k)>, affine_map<(i,j,k)->(j,k)>, affine_map<(i,j,k)->(i + j)>], iterator_types = ["reduction","reduction","reduction"]} ins(%a, %w : tensor<6x3xf64>, tensor<4x3xf64>) outs(%c1 : tensor<9xf64>) {
  ^bb0(%x: f64, %y: f64, %p: f64):
    %m = arith.mulf %x, %y : f64
    %t = arith.addf %p, %m : f64
    linalg.yield %t : f64
  } -> (tensor<9xf64>)
  return %r : tensor<9xf64>
}
// -----
// the prng op reads indices
func.func @main(%seed: tensor<i32>, %b: tensor<6x5xf64>) -> tensor<6x5xf64> {
  %lo = arith.constant -1.0 : f64
  %hi = arith.constant 1.0 : f64
  %s = arith.constant 7 : i32
  %e = tensor.empty() : tensor<6x5xf64>
  %r = linalg.fill_rng_2d ins(%lo, %hi, %s : f64, f64, i32) outs(%e : tensor<6x5xf64>) -> tensor<6x5xf64>
  %q = arith.addf %r, %b : tensor<6x5xf64>
  return %q : tensor<6x5xf64>
}
// -----
// index in linalg.map and integer division in linalg.div, linalg.map
func.func @main(%a: tensor<7x5xi32>, %b: tensor<7x5xi32> {test.nonzero}) -> (tensor<7x5xi32>, tensor<7x5xi32>, tensor<7x5xi32>) {
  %e = tensor.empty() : tensor<7x5xi32>
  %r = linalg.map ins(%a : tensor<7x5xi32>) outs(%e : tensor<7x5xi32>) (%x: i32, %out: i32) {
    %i = linalg.index 0 : index
    %j = arith.index_cast %i : index to i32
    %s = arith.addi %x, %j : i32
    linalg.yield %s : i32
  }
  %d = linalg.div ins(%r, %b : tensor<7x5xi32>, tensor<7x5xi32>) outs(%e : tensor<7x5xi32>) -> tensor<7x5xi32>
  %u = linalg.div_unsigned ins(%r, %b : tensor<7x5xi32>, tensor<7x5xi32>) outs(%e : tensor<7x5xi32>) -> tensor<7x5xi32>
  %m = linalg.map { arith.remsi } ins(%a, %b : tensor<7x5xi32>, tensor<7x5xi32>) outs(%e : tensor<7x5xi32>)
  return %d, %u, %m : tensor<7x5xi32>, tensor<7x5xi32>, tensor<7x5xi32>
}
// -----
// generics: output in another order, constant results of maps, broadcast of ones, yields of inputs, of indices, of constants; reading what is overwritten
func.func @main(%x: tensor<6x5xf64>, %r: tensor<1x5xf64>, %c: tensor<6x1xf64>, %o: tensor<5x6xf64>) -> (tensor<5x6xf64>, tensor<5x6xf64>, tensor<5x6xindex>, tensor<5x1xf64>, tensor<6x5xf64>) {
  %e = tensor.empty() : tensor<5x6xf64>
  %ei = tensor.empty() : tensor<5x6xindex>
  %k = arith.constant 3.0 : f64
  %a = linalg.generic {indexing_maps = [affine_map<(i,j)->(i,j)>, affine_map<(i,j)->(0,j)>, affine_map<(i,j)->(i,0)>, affine_map<(i,j)->(j,i)>], iterator_types = ["parallel","parallel"]} ins(%x, %r, %c : tensor<6x5xf64>, tensor<1x5xf64>, tensor<6x1xf64>) outs(%e : tensor<5x6xf64>) {
  ^bb0(%p: f64, %q: f64, %s: f64, %t: f64):
    %0 = arith.addf %p, %q : f64
    %1 = arith.addf %0, %s : f64
    linalg.yield %1 : f64
  } -> tensor<5x6xf64>
  %b:3 = linalg.generic {indexing_maps = [affine_map<(i,j)->(i,j)>, affine_map<(i,j)->(j,i)>, affine_map<(i,j)->(j,i)>, affine_map<(i,j)->(i,j)>], iterator_types = ["parallel","parallel"]} ins(%x : tensor<6x5xf64>) outs(%o, %ei, %x : tensor<5x6xf64>, tensor<5x6xindex>, tensor<6x5xf64>) {
  ^bb0(%p: f64, %q: f64, %s: index, %t: f64):
    %0 = arith.addf %p, %q : f64
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %ij = arith.muli %i, %j : index
    linalg.yield %0, %ij, %k : f64, index, f64
  } -> (tensor<5x6xf64>, tensor<5x6xindex>, tensor<6x5xf64>)
  %z = arith.constant dense<0.0> : tensor<5x1xf64>
  %d = linalg.generic {indexing_maps = [affine_map<(i,j)->(j,i)>, affine_map<(i,j)->(i,0)>], iterator_types = ["parallel","reduction"]} ins(%x : tensor<6x5xf64>) outs(%z : tensor<5x1xf64>) {
  ^bb0(%p: f64, %q: f64):
    %0 = arith.addf %q, %p : f64
    linalg.yield %0 : f64
  } -> tensor<5x1xf64>
  return %a, %b#0, %b#1, %d, %b#2 : tensor<5x6xf64>, tensor<5x6xf64>, tensor<5x6xindex>, tensor<5x1xf64>, tensor<6x5xf64>
}
// -----
// row 0 and the last row alone are read; a diagonal; a reversed and a shifted dimension
func.func @main(%x: tensor<6x6xf64>) -> (tensor<6xf64>, tensor<6xf64>, tensor<6x6xf64>, tensor<4x6xf64>, tensor<6x6xf64>) {
  %e1 = tensor.empty() : tensor<6xf64>
  %e2 = tensor.empty() : tensor<6x6xf64>
  %e3 = tensor.empty() : tensor<4x6xf64>
  %a = linalg.generic {indexing_maps = [affine_map<(i)->(5,i)>, affine_map<(i)->(i)>], iterator_types = ["parallel"]} ins(%x : tensor<6x6xf64>) outs(%e1 : tensor<6xf64>) {
  ^bb0(%p: f64, %q: f64):
    linalg.yield %p : f64
  } -> tensor<6xf64>
  %b = linalg.generic {indexing_maps = [affine_map<(i)->(i,i)>, affine_map<(i)->(i)>], iterator_types = ["parallel"]} ins(%x : tensor<6x6xf64>) outs(%e1 : tensor<6xf64>) {
  ^bb0(%p: f64, %q: f64):
    linalg.yield %p : f64
  } -> tensor<6xf64>
  %c = linalg.generic {indexing_maps = [affine_map<(i,j)->(5 - i,j)>, affine_map<(i,j)->(i,j)>], iterator_types = ["parallel","parallel"]} ins(%x : tensor<6x6xf64>) outs(%e2 : tensor<6x6xf64>) {
  ^bb0(%p: f64, %q: f64):
    linalg.yield %p : f64
  } -> tensor<6x6xf64>
  %d = linalg.generic {indexing_maps = [affine_map<(i,j)->(i + 2,j)>, affine_map<(i,j)->(i,j)>], iterator_types = ["parallel","parallel"]} ins(%x : tensor<6x6xf64>) outs(%e3 : tensor<4x6xf64>) {
  ^bb0(%p: f64, %q: f64):
    linalg.yield %p : f64
  } -> tensor<4x6xf64>
  %z = linalg.generic {indexing_maps = [affine_map<(i,j)->(i,j)>, affine_map<(i,j)->(j,i)>, affine_map<(i,j)->(i,j)>], iterator_types = ["parallel","parallel"]} ins(%x, %x : tensor<6x6xf64>, tensor<6x6xf64>) outs(%e2 : tensor<6x6xf64>) {
  ^bb0(%p: f64, %r: f64, %q: f64):
    %s = arith.subf %p, %r : f64
    linalg.yield %s : f64
  } -> tensor<6x6xf64>
  return %a, %b, %c, %d, %z : tensor<6xf64>, tensor<6xf64>, tensor<6x6xf64>, tensor<4x6xf64>, tensor<6x6xf64>
}
// -----
// linalg.reduce of two operands, of none, of a body that is no combiner
func.func @main(%x: tensor<6x5xf64>, %y: tensor<6x5xf64>) -> (tensor<5xf64>, tensor<5xf64>, tensor<6x5xf64>, tensor<6xf64>, tensor<6xf64>) {
  %z = arith.constant dense<0.0> : tensor<5xf64>
  %z6 = arith.constant dense<0.0> : tensor<6xf64>
  %r:2 = linalg.reduce ins(%x, %y : tensor<6x5xf64>, tensor<6x5xf64>) outs(%z, %z : tensor<5xf64>, tensor<5xf64>) dimensions = [0]
    (%a: f64, %b: f64, %o: f64, %p: f64) {
      %m = arith.mulf %a, %b : f64
      %s = arith.addf %o, %m : f64
      %t = arith.addf %p, %b : f64
      linalg.yield %s, %t : f64, f64
    }
  %n = linalg.reduce { arith.addf } ins(%x : tensor<6x5xf64>) outs(%y : tensor<6x5xf64>) dimensions = []
  %u = linalg.reduce ins(%x : tensor<6x5xf64>) outs(%z6 : tensor<6xf64>) dimensions = [1]
    (%a: f64, %o: f64) {
      %s = arith.subf %a, %o : f64
      linalg.yield %s : f64
    }
  %v = linalg.reduce ins(%x : tensor<6x5xf64>) outs(%z6 : tensor<6xf64>) dimensions = [1]
    (%a: f64, %o: f64) {
      %c = arith.cmpf ogt, %a, %o : f64
      %s = arith.select %c, %a, %o : f64
      linalg.yield %s : f64
    }
  return %r#0, %r#1, %n, %u, %v : tensor<5xf64>, tensor<5xf64>, tensor<6x5xf64>, tensor<6xf64>, tensor<6xf64>
}
// -----
// named elementwise ops, and linalg.elementwise with maps
func.func @main(%x: tensor<6x5xf64>, %y: tensor<5xf64>, %p: tensor<6x5xi1>) -> (tensor<6x5xf64>, tensor<6x5xf64>, tensor<6x5xf64>) {
  %e = tensor.empty() : tensor<6x5xf64>
  %a = linalg.exp ins(%x : tensor<6x5xf64>) outs(%e : tensor<6x5xf64>) -> tensor<6x5xf64>
  %b = linalg.elementwise kind=#linalg.elementwise_kind<add> indexing_maps = [affine_map<(i,j)->(i,j)>, affine_map<(i,j)->(j)>, affine_map<(i,j)->(i,j)>] ins(%a, %y : tensor<6x5xf64>, tensor<5xf64>) outs(%e : tensor<6x5xf64>) -> tensor<6x5xf64>
  %c = linalg.select ins(%p, %a, %b : tensor<6x5xi1>, tensor<6x5xf64>, tensor<6x5xf64>) outs(%e : tensor<6x5xf64>) -> tensor<6x5xf64>
  %d = linalg.max ins(%c, %x : tensor<6x5xf64>, tensor<6x5xf64>) outs(%e : tensor<6x5xf64>) -> tensor<6x5xf64>
  %f = linalg.copy ins(%d : tensor<6x5xf64>) outs(%e : tensor<6x5xf64>) -> tensor<6x5xf64>
  %g = linalg.negf ins(%f : tensor<6x5xf64>) outs(%e : tensor<6x5xf64>) -> tensor<6x5xf64>
  return %c, %f, %g : tensor<6x5xf64>, tensor<6x5xf64>, tensor<6x5xf64>
}
// -----
// bodies with branches, and reads of captured tensors
func.func @main(%x: tensor<6x5xf64>, %t: tensor<7x3xf64>, %i: tensor<6x5xi32> {test.below = 7 : i64}) -> (tensor<6x5xf64>, tensor<5xf64>) {
  %e = tensor.empty() : tensor<6x5xf64>
  %c2 = arith.constant 2 : index
  %z = arith.constant 0.0 : f64
  %r = linalg.generic {indexing_maps = [affine_map<(i,j)->(i,j)>, affine_map<(i,j)->(i,j)>, affine_map<(i,j)->(i,j)>], iterator_types = ["parallel","parallel"]} ins(%x, %i : tensor<6x5xf64>, tensor<6x5xi32>) outs(%e : tensor<6x5xf64>) {
  ^bb0(%a: f64, %k: i32, %o: f64):
    %kk = arith.index_cast %k : i32 to index
    %j = linalg.index 1 : index
    %p = arith.cmpi ugt, %j, %c2 : index
    %v = scf.if %p -> f64 {
      %q = tensor.extract %t[%kk, %c2] : tensor<7x3xf64>
      scf.yield %q : f64
    } else {
      %q = tensor.extract %t[%kk, %j] : tensor<7x3xf64>
      %s = arith.addf %q, %a : f64
      scf.yield %s : f64
    }
    linalg.yield %v : f64
  } -> tensor<6x5xf64>
  %f = arith.constant dense<0.0> : tensor<5xf64>
  %s = linalg.generic {indexing_maps = [affine_map<(i,j)->(i,j)>, affine_map<(i,j)->(j)>], iterator_types = ["reduction","parallel"]} ins(%i : tensor<6x5xi32>) outs(%f : tensor<5xf64>) {
  ^bb0(%k: i32, %o: f64):
    %kk = arith.index_cast %k : i32 to index
    %c1 = arith.constant 1 : index
    %q = tensor.extract %t[%kk, %c1] : tensor<7x3xf64>
    %u = arith.addf %o, %q : f64
    linalg.yield %u : f64
  } -> tensor<5xf64>
  return %r, %s : tensor<6x5xf64>, tensor<5xf64>
}
