// RUN: dist-fuzz %s

// Sizes that only running tells, sharded and communicated.

dist.mesh @m ["x" = 4]
func.func @main(%a: tensor<?x8xf64> {dist.sharding = #dist.sharding<@m, [{}, {}]>},
                %w: tensor<8x6xf64> {dist.sharding = #dist.sharding<@m, [{}, {"x"}]>})
    -> (tensor<?x6xf64> {dist.sharding = #dist.sharding<@m, [{}, {"x"}]>}, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant 0.0 : f64
  %d = tensor.dim %a, %c0 : tensor<?x8xf64>
  %e = tensor.empty(%d) : tensor<?x6xf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<?x6xf64>) -> tensor<?x6xf64>
  %0 = linalg.matmul ins(%a, %w : tensor<?x8xf64>, tensor<8x6xf64>) outs(%f : tensor<?x6xf64>) -> tensor<?x6xf64>
  %1 = math.tanh %0 : tensor<?x6xf64>
  %n = tensor.dim %1, %c1 : tensor<?x6xf64>
  return %1, %n : tensor<?x6xf64>, index
}

// -----
// Data and tensor parallel: the batch over dp, one all_reduce over tp.
dist.mesh @m ["dp" = 2, "tp" = 2]
func.func @main(%x: tensor<?x8xf64> {dist.sharding = #dist.sharding<@m, [{"dp"}, {}]>},
                %w: tensor<8x5xf64> {dist.sharding = #dist.sharding<@m, [{}, {"tp"}]>},
                %v: tensor<5x8xf64> {dist.sharding = #dist.sharding<@m, [{"tp"}, {}]>})
    -> (tensor<?x8xf64>, index) {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f64
  %b = tensor.dim %x, %c0 : tensor<?x8xf64>
  %e = tensor.empty(%b) : tensor<?x5xf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<?x5xf64>) -> tensor<?x5xf64>
  %h = linalg.matmul ins(%x, %w : tensor<?x8xf64>, tensor<8x5xf64>) outs(%f : tensor<?x5xf64>) -> tensor<?x5xf64>
  %g = math.tanh %h : tensor<?x5xf64>
  %e2 = tensor.empty(%b) : tensor<?x8xf64>
  %f2 = linalg.fill ins(%z : f64) outs(%e2 : tensor<?x8xf64>) -> tensor<?x8xf64>
  %y = linalg.matmul ins(%g, %v : tensor<?x5xf64>, tensor<5x8xf64>) outs(%f2 : tensor<?x8xf64>) -> tensor<?x8xf64>
  %r = arith.addf %y, %x : tensor<?x8xf64>
  return %r, %b : tensor<?x8xf64>, index
}

// -----
// The mean over a batch of unknown size: partial sums, and the whole size.
dist.mesh @m ["x" = 4]
func.func @main(%x: tensor<?x6xf64> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>}) -> (tensor<6xf64>, tensor<?xf64>) {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f64
  %b = tensor.dim %x, %c0 : tensor<?x6xf64>
  %bi = arith.index_cast %b : index to i64
  %bf = arith.sitofp %bi : i64 to f64
  %e = tensor.empty() : tensor<6xf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<6xf64>) -> tensor<6xf64>
  %s = linalg.reduce ins(%x : tensor<?x6xf64>) outs(%f : tensor<6xf64>) dimensions = [0]
    (%in: f64, %acc: f64) { %t = arith.addf %in, %acc : f64 linalg.yield %t : f64 }
  %m = linalg.map ins(%s : tensor<6xf64>) outs(%e : tensor<6xf64>)
    (%in: f64, %init: f64) { %t = arith.divf %in, %bf : f64 linalg.yield %t : f64 }
  %e1 = tensor.empty(%b) : tensor<?xf64>
  %f1 = linalg.fill ins(%z : f64) outs(%e1 : tensor<?xf64>) -> tensor<?xf64>
  %rows = linalg.reduce ins(%x : tensor<?x6xf64>) outs(%f1 : tensor<?xf64>) dimensions = [1]
    (%in: f64, %acc: f64) { %t = arith.maximumf %in, %acc : f64 linalg.yield %t : f64 }
  return %m, %rows : tensor<6xf64>, tensor<?xf64>
}

// -----
// Gathered, moved to another dimension, permuted, sliced.
dist.mesh @m ["x" = 2, "y" = 3]
func.func @main(%a: tensor<?x7x?xf64> {dist.sharding = #dist.sharding<@m, [{"x"}, {"y"}, {}]>})
    -> (tensor<?x7x?xf64> {dist.sharding = #dist.sharding<@m, [{"y"}, {"x"}, {}]>},
        tensor<?x7x?xf64> {dist.sharding = #dist.sharding<@m, [{}, {}, {"x", "y"}]>},
        tensor<?x7x?xf64> {dist.sharding = #dist.sharding<@m, [{}, {}, {}]>},
        tensor<?x7x?xf64> {dist.sharding = #dist.sharding<@m, [{"y", "x"}, {}, {}]>}) {
  %0 = math.absf %a : tensor<?x7x?xf64>
  %1 = arith.negf %a : tensor<?x7x?xf64>
  %2 = dist.sharding_constraint %1 <@m, [{"x"}, {}, {"y"}]> : tensor<?x7x?xf64>
  return %0, %1, %2, %2 : tensor<?x7x?xf64>, tensor<?x7x?xf64>, tensor<?x7x?xf64>, tensor<?x7x?xf64>
}

// -----
// Batch and sequence merged for a product and taken apart again.
dist.mesh @m ["dp" = 2, "tp" = 2]
func.func @main(%x: tensor<?x3x8xf64> {dist.sharding = #dist.sharding<@m, [{"dp"}, {}, {}]>},
                %w: tensor<8x12xf64> {dist.sharding = #dist.sharding<@m, [{}, {"tp"}]>})
    -> (tensor<?x3x12xf64>, tensor<?x4x3xf64>) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %z = arith.constant 0.0 : f64
  %b = tensor.dim %x, %c0 : tensor<?x3x8xf64>
  %flat = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x3x8xf64> into tensor<?x8xf64>
  %n = tensor.dim %flat, %c0 : tensor<?x8xf64>
  %e = tensor.empty(%n) : tensor<?x12xf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<?x12xf64>) -> tensor<?x12xf64>
  %y = linalg.matmul ins(%flat, %w : tensor<?x8xf64>, tensor<8x12xf64>) outs(%f : tensor<?x12xf64>) -> tensor<?x12xf64>
  %split = tensor.expand_shape %y [[0, 1], [2]] output_shape [%b, 3, 12] : tensor<?x12xf64> into tensor<?x3x12xf64>
  %heads = tensor.expand_shape %split [[0], [1], [2, 3]] output_shape [%b, 3, 4, 3] : tensor<?x3x12xf64> into tensor<?x3x4x3xf64>
  %et = tensor.empty(%b) : tensor<?x4x3x3xf64>
  %t = linalg.transpose ins(%heads : tensor<?x3x4x3xf64>) outs(%et : tensor<?x4x3x3xf64>) permutation = [0, 2, 1, 3]
  %es = tensor.empty(%b) : tensor<?x4x3xf64>
  %fs = linalg.fill ins(%z : f64) outs(%es : tensor<?x4x3xf64>) -> tensor<?x4x3xf64>
  %s = linalg.reduce ins(%t : tensor<?x4x3x3xf64>) outs(%fs : tensor<?x4x3xf64>) dimensions = [3]
    (%in: f64, %acc: f64) { %u = arith.addf %in, %acc : f64 linalg.yield %u : f64 }
  return %split, %s : tensor<?x3x12xf64>, tensor<?x4x3xf64>
}

// -----
// The minor of two merged dimensions is the unknown one: interleaved.
dist.mesh @m ["x" = 4]
func.func @main(%x: tensor<2x?x3xf64> {dist.sharding = #dist.sharding<@m, [{}, {"x"}, {}]>})
    -> (tensor<?x3xf64>, tensor<2x?x3xf64>) {
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c1 : tensor<2x?x3xf64>
  %flat = tensor.collapse_shape %x [[0, 1], [2]] : tensor<2x?x3xf64> into tensor<?x3xf64>
  %y = math.exp %flat : tensor<?x3xf64>
  %back = tensor.expand_shape %y [[0, 1], [2]] output_shape [2, %n, 3] : tensor<?x3xf64> into tensor<2x?x3xf64>
  return %y, %back : tensor<?x3xf64>, tensor<2x?x3xf64>
}

// -----
dist.mesh @m ["x" = 2]
func.func @main(%x: tensor<?x?xf64> {dist.sharding = #dist.sharding<@m, [{}, {"x"}]>},
                %y: tensor<?x?xf64> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>})
    -> (tensor<?xf64>, tensor<?xf64>) {
  %a = tensor.collapse_shape %x [[0, 1]] : tensor<?x?xf64> into tensor<?xf64>
  %b = tensor.collapse_shape %y [[0, 1]] : tensor<?x?xf64> into tensor<?xf64>
  return %a, %b : tensor<?xf64>, tensor<?xf64>
}

// -----
dist.mesh @m ["x" = 2, "y" = 2]
func.func @main(%x: tensor<?x8xf64> {dist.sharding = #dist.sharding<@m, [{"x"}, {"y"}]>},
                %d: tensor<?x4xf64> {dist.sharding = #dist.sharding<@m, [{"x"}, {"y"}]>})
    -> (tensor<?x4xf64>, tensor<?x4xf64>, tensor<?x8xf64>, tensor<?x12xf64>, tensor<?x10xf64>, tensor<3x8xf64>) {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.5 : f64
  %one = arith.constant 1 : index
  %b = tensor.dim %d, %c0 : tensor<?x4xf64>
  %bx = tensor.dim %x, %c0 : tensor<?x8xf64>
  %less = arith.subi %b, %one : index
  %s = tensor.extract_slice %x[0, 4] [%bx, 4] [1, 1] : tensor<?x8xf64> to tensor<?x4xf64>
  %t = tensor.extract_slice %x[1, 4] [%less, 4] [1, 1] : tensor<?x8xf64> to tensor<?x4xf64>
  %i = tensor.insert_slice %d into %x[0, 0] [%b, 4] [1, 1] : tensor<?x4xf64> into tensor<?x8xf64>
  %c = tensor.concat dim(1) %x, %d : (tensor<?x8xf64>, tensor<?x4xf64>) -> tensor<?x12xf64>
  %p = tensor.pad %x low[0, 1] high[0, 1] { ^bb0(%u: index, %v: index): tensor.yield %z : f64 } : tensor<?x8xf64> to tensor<?x10xf64>
  %three = tensor.extract_slice %x[0, 0] [3, 8] [1, 1] : tensor<?x8xf64> to tensor<3x8xf64>
  return %s, %t, %i, %c, %p, %three : tensor<?x4xf64>, tensor<?x4xf64>, tensor<?x8xf64>, tensor<?x12xf64>, tensor<?x10xf64>, tensor<3x8xf64>
}

// -----
// The index of a row counts from the start of the whole.
#id = affine_map<(d0, d1) -> (d0, d1)>
dist.mesh @m ["x" = 2, "y" = 2]
func.func @main(%x: tensor<?x6xf64> {dist.sharding = #dist.sharding<@m, [{"x", "y"}, {}]>},
                %s: tensor<2x?xf64> {dist.sharding = #dist.sharding<@m, [{}, {"y", "x"}]>})
    -> (tensor<?x6xf64>, tensor<?x3xindex> {dist.sharding = #dist.sharding<@m, [{"y"}, {"x"}]>}, tensor<?xf64>) {
  %c0 = arith.constant 0 : index
  %b = tensor.dim %x, %c0 : tensor<?x6xf64>
  %e = tensor.empty(%b) : tensor<?x6xf64>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x6xf64>) outs(%e : tensor<?x6xf64>) {
  ^bb0(%in: f64, %out: f64):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %sum = arith.muli %i, %j : index
    %n = arith.index_cast %sum : index to i64
    %f = arith.sitofp %n : i64 to f64
    %r = arith.addf %f, %in : f64
    linalg.yield %r : f64
  } -> tensor<?x6xf64>
  %g = tensor.generate %b {
  ^bb0(%i: index, %j: index):
    %v = arith.addi %i, %j : index
    tensor.yield %v : index
  } : tensor<?x3xindex>
  %flat = tensor.collapse_shape %s [[0, 1]] : tensor<2x?xf64> into tensor<?xf64>
  %n = tensor.dim %flat, %c0 : tensor<?xf64>
  %e1 = tensor.empty(%n) : tensor<?xf64>
  %k = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%flat : tensor<?xf64>) outs(%e1 : tensor<?xf64>) {
  ^bb0(%in: f64, %out: f64):
    %i = linalg.index 0 : index
    %m = arith.index_cast %i : index to i64
    %f = arith.sitofp %m : i64 to f64
    %r = arith.mulf %f, %in : f64
    linalg.yield %r : f64
  } -> tensor<?xf64>
  return %y, %g, %k : tensor<?x6xf64>, tensor<?x3xindex>, tensor<?xf64>
}

// -----
dist.mesh @m ["x" = 2, "y" = 2]
func.func @main(%table: tensor<10x6xf64> {dist.sharding = #dist.sharding<@m, [{"y"}, {}]>},
                %ids: tensor<?x3x1xi64> {test.below = 10, dist.sharding = #dist.sharding<@m, [{"x"}, {}, {}]>},
                %rows: tensor<?x6xf64> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>},
                %few: tensor<4x1xi64> {test.below = 4, dist.sharding = #dist.sharding<@m, [{"y"}, {}]>})
    -> (tensor<?x3x6xf64>, tensor<4x6xf64>) {
  %0 = tensor.gather %table[%ids] gather_dims([0]) : (tensor<10x6xf64>, tensor<?x3x1xi64>) -> tensor<?x3x6xf64>
  %1 = tensor.gather %rows[%few] gather_dims([0]) : (tensor<?x6xf64>, tensor<4x1xi64>) -> tensor<4x6xf64>
  return %0, %1 : tensor<?x3x6xf64>, tensor<4x6xf64>
}

// -----
dist.mesh @m ["dp" = 2, "sp" = 2]
func.func @main(%q: tensor<?x4x2x3xf64> {dist.sharding = #dist.sharding<@m, [{"dp"}, {"sp"}, {}, {}]>},
                %k: tensor<?x4x2x3xf64> {dist.sharding = #dist.sharding<@m, [{"dp"}, {"sp"}, {}, {}]>})
    -> tensor<?x2x4x4xf64> {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f64
  %b = tensor.dim %q, %c0 : tensor<?x4x2x3xf64>
  %e = tensor.empty(%b) : tensor<?x2x4x4xf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<?x2x4x4xf64>) -> tensor<?x2x4x4xf64>
  %hq = dist.sharding_constraint %q <@m, [{"dp"}, {}, {"sp"}, {}]> : tensor<?x4x2x3xf64>
  %s = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, i, h, d)>, affine_map<(b, h, i, j, d) -> (b, j, h, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%hq, %k : tensor<?x4x2x3xf64>, tensor<?x4x2x3xf64>) outs(%f : tensor<?x2x4x4xf64>) {
  ^bb0(%a: f64, %c: f64, %o: f64):
    %m = arith.mulf %a, %c : f64
    %r = arith.addf %m, %o : f64
    linalg.yield %r : f64
  } -> tensor<?x2x4x4xf64>
  %p = linalg.softmax dimension(3) ins(%s : tensor<?x2x4x4xf64>) outs(%e : tensor<?x2x4x4xf64>) -> tensor<?x2x4x4xf64>
  return %p : tensor<?x2x4x4xf64>
}

// -----
dist.mesh @m ["x" = 2, "y" = 2]
func.func private @half(%v: tensor<?x6xf64>) -> tensor<?x6xf64> {
  %0 = math.absf %v : tensor<?x6xf64>
  return %0 : tensor<?x6xf64>
}
func.func @main(%x: tensor<?x6xf64> {dist.sharding = #dist.sharding<@m, [{"x"}, {"y"}]>},
                %w: tensor<6x6xf64> {dist.sharding = #dist.sharding<@m, [{"y"}, {}]>}) -> tensor<?x6xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %z = arith.constant 0.0 : f64
  %b = tensor.dim %x, %c0 : tensor<?x6xf64>
  %big = arith.cmpi ugt, %b, %c2 : index
  %y = scf.for %i = %c0 to %c2 step %c1 iter_args(%v = %x) -> tensor<?x6xf64> {
    %n = tensor.dim %v, %c0 : tensor<?x6xf64>
    %e = tensor.empty(%n) : tensor<?x6xf64>
    %f = linalg.fill ins(%z : f64) outs(%e : tensor<?x6xf64>) -> tensor<?x6xf64>
    %m = linalg.matmul ins(%v, %w : tensor<?x6xf64>, tensor<6x6xf64>) outs(%f : tensor<?x6xf64>) -> tensor<?x6xf64>
    %t = math.tanh %m : tensor<?x6xf64>
    scf.yield %t : tensor<?x6xf64>
  }
  %r = scf.if %big -> tensor<?x6xf64> {
    %c = func.call @half(%y) : (tensor<?x6xf64>) -> tensor<?x6xf64>
    scf.yield %c : tensor<?x6xf64>
  } else {
    scf.yield %x : tensor<?x6xf64>
  }
  return %r : tensor<?x6xf64>
}

// -----
dist.mesh @m ["x" = 4]
func.func @main(%x: tensor<?x6xf64> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>},
                %s: tensor<12x6xf64> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>}) -> (tensor<?x?xf64>, tensor<?x6xf64>) {
  %0 = tensor.cast %x : tensor<?x6xf64> to tensor<?x?xf64>
  %1 = math.exp %0 : tensor<?x?xf64>
  %2 = tensor.cast %s : tensor<12x6xf64> to tensor<?x6xf64>
  %3 = math.exp %2 : tensor<?x6xf64>
  return %1, %3 : tensor<?x?xf64>, tensor<?x6xf64>
}

// -----
dist.mesh @m ["sp" = 2, "tp" = 2]
func.func @main(%x: tensor<2x?x8xf64> {dist.sharding = #dist.sharding<@m, [{}, {"sp"}, {}]>},
                %w: tensor<8x8xf64> {dist.sharding = #dist.sharding<@m, [{"tp"}, {}]>}) -> tensor<2x?x8xf64> {
  %c1 = arith.constant 1 : index
  %z = arith.constant 0.0 : f64
  %n = tensor.dim %x, %c1 : tensor<2x?x8xf64>
  %e = tensor.empty(%n) : tensor<2x?x8xf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<2x?x8xf64>) -> tensor<2x?x8xf64>
  %y = linalg.generic {indexing_maps = [affine_map<(b, s, n, k) -> (b, s, k)>, affine_map<(b, s, n, k) -> (k, n)>, affine_map<(b, s, n, k) -> (b, s, n)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<2x?x8xf64>, tensor<8x8xf64>) outs(%f : tensor<2x?x8xf64>) {
  ^bb0(%a: f64, %c: f64, %o: f64):
    %m = arith.mulf %a, %c : f64
    %r = arith.addf %m, %o : f64
    linalg.yield %r : f64
  } -> tensor<2x?x8xf64>
  %r = dist.sync %y fwd_post reduce_scatter dim 1 over "tp" : tensor<2x?x8xf64>
  %t = math.tanh %r : tensor<2x?x8xf64>
  %g = dist.sync %t fwd_post all_gather dim 1 over "tp" : tensor<2x?x8xf64>
  return %g : tensor<2x?x8xf64>
}

// -----
// What is known to be uneven is not sharded where it is not known.
dist.mesh @m ["x" = 4]
func.func @main(%x: tensor<10x6xf64> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>}) -> (tensor<?x?xf64>, tensor<10x6xf64>) {
  %0 = tensor.cast %x : tensor<10x6xf64> to tensor<?x?xf64>
  %1 = math.exp %0 : tensor<?x?xf64>
  %2 = tensor.cast %1 : tensor<?x?xf64> to tensor<10x6xf64>
  %3 = arith.addf %2, %x : tensor<10x6xf64>
  return %1, %3 : tensor<?x?xf64>, tensor<10x6xf64>
}

// -----
// One scalar, as often as a dimension of unknown size has it.
dist.mesh @m ["x" = 4]
func.func @main(%x: tensor<?x6xf64> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>}, %v: tensor<f64>) -> (tensor<?x6xf64>, tensor<?x6xf64> {dist.sharding = #dist.sharding<@m, [{}, {"x"}]>}) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x6xf64>
  %s = tensor.extract %v[] : tensor<f64>
  %t = tensor.splat %s[%n] : tensor<?x6xf64>
  %r = arith.addf %x, %t : tensor<?x6xf64>
  return %r, %t : tensor<?x6xf64>, tensor<?x6xf64>
}
