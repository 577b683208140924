// Ops that move data: reshapes, slices, joins, pads, lookups.

// concat with an empty piece
func.func @main(%a: tensor<5x4xf64>, %b: tensor<0x4xf64>, %c: tensor<10x4xf64>) -> (tensor<15x4xf64>, tensor<5x4xf64>) {
  %r = tensor.concat dim(0) %a, %b, %c : (tensor<5x4xf64>, tensor<0x4xf64>, tensor<10x4xf64>) -> tensor<15x4xf64>
  %q = tensor.concat dim(0) %b, %a : (tensor<0x4xf64>, tensor<5x4xf64>) -> tensor<5x4xf64>
  return %r, %q : tensor<15x4xf64>, tensor<5x4xf64>
}
// -----
// splat, bitcast, cast
func.func @main(%a: tensor<6x5xf64>, %s: tensor<f64>, %i: tensor<6x5xi64>) -> (tensor<6x5xf64>, tensor<6x5xi64>, tensor<6x5xf64>) {
  %x = tensor.extract %s[] : tensor<f64>
  %b = tensor.splat %x : tensor<6x5xf64>
  %c = arith.addf %a, %b : tensor<6x5xf64>
  %d = arith.bitcast %c : tensor<6x5xf64> to tensor<6x5xi64>
  %e = arith.addi %d, %i : tensor<6x5xi64>
  %g = tensor.cast %c : tensor<6x5xf64> to tensor<6x5xf64>
  return %c, %e, %g : tensor<6x5xf64>, tensor<6x5xi64>, tensor<6x5xf64>
}
// -----
// chains of reshapes that split and merge
func.func @main(%x: tensor<24x6xf64>) -> (tensor<4x6x6xf64>, tensor<8x3x6xf64>, tensor<2x72xf64>, tensor<144xf64>, tensor<6x4x3x2xf64>) {
  %a = tensor.expand_shape %x [[0, 1], [2]] output_shape [4, 6, 6] : tensor<24x6xf64> into tensor<4x6x6xf64>
  %n = arith.negf %a : tensor<4x6x6xf64>
  %b = tensor.collapse_shape %n [[0, 1], [2]] : tensor<4x6x6xf64> into tensor<24x6xf64>
  %c = tensor.expand_shape %b [[0, 1], [2]] output_shape [8, 3, 6] : tensor<24x6xf64> into tensor<8x3x6xf64>
  %d = tensor.collapse_shape %c [[0, 1, 2]] : tensor<8x3x6xf64> into tensor<144xf64>
  %e = tensor.expand_shape %d [[0, 1]] output_shape [2, 72] : tensor<144xf64> into tensor<2x72xf64>
  %f = tensor.expand_shape %d [[0, 1, 2, 3]] output_shape [6, 4, 3, 2] : tensor<144xf64> into tensor<6x4x3x2xf64>
  return %a, %c, %e, %d, %f : tensor<4x6x6xf64>, tensor<8x3x6xf64>, tensor<2x72xf64>, tensor<144xf64>, tensor<6x4x3x2xf64>
}
// -----
// pixel shuffle and window partition (swin): expand, transpose, collapse; roll by slices and concat
func.func @main(%x: tensor<2x8x4x6x3xf64>) -> (tensor<8x12xf64>, tensor<2x8x4x6x3xf64>) {
  %a = tensor.extract_slice %x[0, 0, 0, 0, 0] [1, 8, 4, 3, 1] [1, 1, 1, 2, 1] : tensor<2x8x4x6x3xf64> to tensor<8x4x3xf64>
  %b = tensor.expand_shape %a [[0, 1], [2, 3], [4]] output_shape [4, 2, 2, 2, 3] : tensor<8x4x3xf64> into tensor<4x2x2x2x3xf64>
  %e = tensor.empty() : tensor<4x2x2x2x3xf64>
  %t = linalg.transpose ins(%b : tensor<4x2x2x2x3xf64>) outs(%e : tensor<4x2x2x2x3xf64>) permutation = [0, 2, 1, 3, 4]
  %c = tensor.collapse_shape %t [[0, 1], [2, 3, 4]] : tensor<4x2x2x2x3xf64> into tensor<8x12xf64>
  %l = tensor.extract_slice %x[0, 0, 0, 1, 0] [2, 8, 4, 5, 3] [1, 1, 1, 1, 1] : tensor<2x8x4x6x3xf64> to tensor<2x8x4x5x3xf64>
  %r = tensor.extract_slice %x[0, 0, 0, 0, 0] [2, 8, 4, 1, 3] [1, 1, 1, 1, 1] : tensor<2x8x4x6x3xf64> to tensor<2x8x4x1x3xf64>
  %roll = tensor.concat dim(3) %l, %r : (tensor<2x8x4x5x3xf64>, tensor<2x8x4x1x3xf64>) -> tensor<2x8x4x6x3xf64>
  return %c, %roll : tensor<8x12xf64>, tensor<2x8x4x6x3xf64>
}
// -----
// generate reads a tensor and indices, and branches inside
func.func @main(%x: tensor<6x5xf64>, %i: tensor<4xi64> {test.below = 6 : i64}) -> (tensor<7x5xf64>, tensor<4x5xf64>) {
  %z = arith.constant 0.0 : f64
  %c6 = arith.constant 6 : index
  %g = tensor.generate {
  ^bb0(%a: index, %b: index):
    %p = arith.cmpi ult, %a, %c6 : index
    %v = scf.if %p -> f64 {
      %q = tensor.extract %x[%a, %b] : tensor<6x5xf64>
      scf.yield %q : f64
    } else {
      scf.yield %z : f64
    }
    tensor.yield %v : f64
  } : tensor<7x5xf64>
  %h = tensor.generate {
  ^bb0(%a: index, %b: index):
    %k = tensor.extract %i[%a] : tensor<4xi64>
    %kk = arith.index_cast %k : i64 to index
    %q = tensor.extract %x[%kk, %b] : tensor<6x5xf64>
    tensor.yield %q : f64
  } : tensor<4x5xf64>
  return %g, %h : tensor<7x5xf64>, tensor<4x5xf64>
}
// -----
// padding whose value is read from a tensor, or depends on the index
func.func @main(%x: tensor<6x5xf64>, %v: tensor<5xf64>) -> (tensor<9x5xf64>, tensor<6x8xf64>, tensor<6x6xf64>) {
  %c0 = arith.constant 0 : index
  %s = tensor.extract %v[%c0] : tensor<5xf64>
  %p = tensor.pad %x low[1, 0] high[2, 0] {
  ^bb0(%a: index, %b: index):
    %q = tensor.extract %v[%b] : tensor<5xf64>
    tensor.yield %q : f64
  } : tensor<6x5xf64> to tensor<9x5xf64>
  %r = tensor.pad %x low[0, 2] high[0, 1] {
  ^bb0(%a: index, %b: index):
    %i = arith.index_cast %a : index to i64
    %f = arith.sitofp %i : i64 to f64
    tensor.yield %f : f64
  } : tensor<6x5xf64> to tensor<6x8xf64>
  %t = tensor.pad %x nofold low[0, 0] high[0, 1] {
  ^bb0(%a: index, %b: index):
    tensor.yield %s : f64
  } : tensor<6x5xf64> to tensor<6x6xf64>
  return %p, %r, %t : tensor<9x5xf64>, tensor<6x8xf64>, tensor<6x6xf64>
}
// -----
// slices: strided, rank-reduced, at run-time offsets; written back
func.func @main(%x: tensor<8x6x5xf64>, %y: tensor<4x5xf64>, %n: tensor<i64> {test.below = 3 : i64}) -> (tensor<4x5xf64>, tensor<8x6x5xf64>, tensor<8x6x5xf64>, tensor<3x6x2xf64>, tensor<8x6x5xf64>) {
  %k = tensor.extract %n[] : tensor<i64>
  %i = arith.index_cast %k : i64 to index
  %a = tensor.extract_slice %x[1, %i, 0] [4, 1, 5] [2, 1, 1] : tensor<8x6x5xf64> to tensor<4x5xf64>
  %b = arith.addf %a, %y : tensor<4x5xf64>
  %c = tensor.insert_slice %b into %x[0, %i, 0] [4, 1, 5] [2, 1, 1] : tensor<4x5xf64> into tensor<8x6x5xf64>
  %d = tensor.insert_slice %b into %c[%i, 2, 0] [4, 1, 5] [1, 1, 1] : tensor<4x5xf64> into tensor<8x6x5xf64>
  %e = tensor.extract_slice %d[2, 0, 1] [3, 6, 2] [2, 1, 2] : tensor<8x6x5xf64> to tensor<3x6x2xf64>
  %f = tensor.insert_slice %e into %d[0, 0, 0] [3, 6, 2] [1, 1, 3] : tensor<3x6x2xf64> into tensor<8x6x5xf64>
  return %a, %c, %d, %e, %f : tensor<4x5xf64>, tensor<8x6x5xf64>, tensor<8x6x5xf64>, tensor<3x6x2xf64>, tensor<8x6x5xf64>
}
// -----
// gathers over inner and several dimensions, dropped and kept
func.func @main(%x: tensor<4x6x5xf64>, %i: tensor<3x2x1xi32> {test.below = 5 : i64}, %j: tensor<7x2xi64> {test.below = 4 : i64}, %k: tensor<2xindex> {test.below = 4 : i64}) -> (tensor<3x2x4x6xf64>, tensor<3x2x4x6x1xf64>, tensor<7x6xf64>, tensor<7x1x6x1xf64>, tensor<6xf64>, tensor<7x5xf64>) {
  %a = tensor.gather %x[%i] gather_dims([2]) : (tensor<4x6x5xf64>, tensor<3x2x1xi32>) -> tensor<3x2x4x6xf64>
  %b = tensor.gather %x[%i] gather_dims([2]) : (tensor<4x6x5xf64>, tensor<3x2x1xi32>) -> tensor<3x2x4x6x1xf64>
  %c = tensor.gather %x[%j] gather_dims([0, 2]) : (tensor<4x6x5xf64>, tensor<7x2xi64>) -> tensor<7x6xf64>
  %d = tensor.gather %x[%j] gather_dims([0, 2]) : (tensor<4x6x5xf64>, tensor<7x2xi64>) -> tensor<7x1x6x1xf64>
  %e = tensor.gather %x[%k] gather_dims([0, 2]) : (tensor<4x6x5xf64>, tensor<2xindex>) -> tensor<6xf64>
  %f = tensor.gather %x[%j] gather_dims([0, 1]) : (tensor<4x6x5xf64>, tensor<7x2xi64>) -> tensor<7x5xf64>
  return %a, %b, %c, %d, %e, %f : tensor<3x2x4x6xf64>, tensor<3x2x4x6x1xf64>, tensor<7x6xf64>, tensor<7x1x6x1xf64>, tensor<6xf64>, tensor<7x5xf64>
}
// -----
// scatters
func.func @main(%x: tensor<7x4xf64>, %u: tensor<3x4xf64>, %i: tensor<3x1xi64> {test.permutation = 7 : i64}, %w: tensor<4x1x7xf64>, %j: tensor<4x1xi64> {test.permutation = 4 : i64}, %y: tensor<4x7xf64>, %t: tensor<4x7x1xf64>) -> (tensor<7x4xf64>, tensor<4x7xf64>, tensor<7x4xf64>) {
  %a = tensor.scatter %u into %x[%i] scatter_dims([0]) unique : (tensor<3x4xf64>, tensor<7x4xf64>, tensor<3x1xi64>) -> tensor<7x4xf64>
  %b = tensor.scatter %w into %y[%j] scatter_dims([0]) unique : (tensor<4x1x7xf64>, tensor<4x7xf64>, tensor<4x1xi64>) -> tensor<4x7xf64>
  %c = tensor.scatter %t into %x[%j] scatter_dims([1]) unique : (tensor<4x7x1xf64>, tensor<7x4xf64>, tensor<4x1xi64>) -> tensor<7x4xf64>
  return %a, %b, %c : tensor<7x4xf64>, tensor<4x7xf64>, tensor<7x4xf64>
}
// -----
// values returned twice, an argument returned, an argument that nobody uses
func.func @main(%x: tensor<6x5xf64>, %u: tensor<4xf64>, %y: tensor<6x5xf64>) -> (tensor<6x5xf64>, tensor<6x5xf64>, tensor<6x5xf64>, tensor<6x5xf64>) {
  %a = arith.addf %x, %y : tensor<6x5xf64>
  return %a, %a, %x, %x : tensor<6x5xf64>, tensor<6x5xf64>, tensor<6x5xf64>, tensor<6x5xf64>
}
// -----
// a row of a tensor is written, and nobody reads what it held
func.func @main(%a: tensor<4xi64>, %i: tensor<3x4xi64>) -> tensor<3x4xi64> {
  %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (1, d0)>], iterator_types = ["parallel"]} ins(%a : tensor<4xi64>) outs(%i : tensor<3x4xi64>) {
  ^bb0(%in: i64, %out: i64):
    linalg.yield %in : i64
  } -> tensor<3x4xi64>
  return %y : tensor<3x4xi64>
}
// -----
// every second element is written
func.func @main(%a: tensor<4xi64>, %i: tensor<9xi64>) -> tensor<9xi64> {
  %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (2 * d0 + 1)>], iterator_types = ["parallel"]} ins(%a : tensor<4xi64>) outs(%i : tensor<9xi64>) {
  ^bb0(%in: i64, %out: i64):
    linalg.yield %in : i64
  } -> tensor<9xi64>
  return %y : tensor<9xi64>
}
// -----
// a loop of no turns: what the destination held is the result
func.func @main(%a: tensor<0x3xi64>, %i: tensor<3xi64>) -> tensor<3xi64> {
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>], iterator_types = ["reduction", "parallel"]} ins(%a : tensor<0x3xi64>) outs(%i : tensor<3xi64>) {
  ^bb0(%in: i64, %out: i64):
    linalg.yield %in : i64
  } -> tensor<3xi64>
  return %y : tensor<3xi64>
}
// -----
// two loops make each place once
func.func @main(%a: tensor<4x2xi64>, %i: tensor<8xi64>) -> tensor<8xi64> {
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (2 * d0 + d1)>], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<4x2xi64>) outs(%i : tensor<8xi64>) {
  ^bb0(%in: i64, %out: i64):
    linalg.yield %in : i64
  } -> tensor<8xi64>
  return %y : tensor<8xi64>
}
