// Ops that the tests' interpreter does not know: compiled and run only (dist_run_programs_test).

// pack and unpack; tiles that divide, that do not, in another order
func.func @main(%a: tensor<8x6xf64>, %b: tensor<8x6xf64>, %c: tensor<7x6xf64>) -> (tensor<2x3x4x2xf64>, tensor<8x6xf64>, tensor<3x2x2x4xf64>, tensor<7x6xf64>) {
  %e = tensor.empty() : tensor<2x3x4x2xf64>
  %p = linalg.pack %a inner_dims_pos = [0, 1] inner_tiles = [4, 2] into %e : tensor<8x6xf64> -> tensor<2x3x4x2xf64>
  %n = arith.negf %p : tensor<2x3x4x2xf64>
  %u = linalg.unpack %n inner_dims_pos = [0, 1] inner_tiles = [4, 2] into %b : tensor<2x3x4x2xf64> -> tensor<8x6xf64>
  %z = arith.constant 1.5 : f64
  %f = tensor.empty() : tensor<3x2x2x4xf64>
  %q = linalg.pack %c padding_value(%z : f64) outer_dims_perm = [1, 0] inner_dims_pos = [1, 0] inner_tiles = [2, 4] into %f : tensor<7x6xf64> -> tensor<3x2x2x4xf64>
  %v = linalg.unpack %q outer_dims_perm = [1, 0] inner_dims_pos = [1, 0] inner_tiles = [2, 4] into %c : tensor<3x2x2x4xf64> -> tensor<7x6xf64>
  return %p, %u, %q, %v : tensor<2x3x4x2xf64>, tensor<8x6xf64>, tensor<3x2x2x4xf64>, tensor<7x6xf64>
}
// -----
// tensor.reshape and bitcasts
func.func @main(%a: tensor<8x6xi64>, %b: tensor<8x6xf64>) -> (tensor<4x12xi64>, tensor<8x6xi64>) {
  %s = arith.constant dense<[4, 12]> : tensor<2xi64>
  %r = tensor.reshape %a(%s) : (tensor<8x6xi64>, tensor<2xi64>) -> tensor<4x12xi64>
  %f = tensor.bitcast %a : tensor<8x6xi64> to tensor<8x6xf64>
  %g = arith.addf %f, %b : tensor<8x6xf64>
  %h = tensor.bitcast %g : tensor<8x6xf64> to tensor<8x6xi64>
  return %r, %h : tensor<4x12xi64>, tensor<8x6xi64>
}
// -----
// a switch, and a region that is executed
func.func @main(%a: tensor<8x6xf64>, %n: tensor<index> {test.below = 4 : i64}) -> (tensor<8x6xf64>, tensor<8x6xf64>) {
  %k = tensor.extract %n[] : tensor<index>
  %r = scf.index_switch %k -> tensor<8x6xf64>
  case 1 {
    %q = arith.negf %a : tensor<8x6xf64>
    scf.yield %q : tensor<8x6xf64>
  }
  case 2 {
    scf.yield %a : tensor<8x6xf64>
  }
  default {
    %q = math.exp %a : tensor<8x6xf64>
    scf.yield %q : tensor<8x6xf64>
  }
  %e = scf.execute_region -> tensor<8x6xf64> {
    %q = arith.addf %r, %a : tensor<8x6xf64>
    scf.yield %q : tensor<8x6xf64>
  }
  return %r, %e : tensor<8x6xf64>, tensor<8x6xf64>
}
// -----
// parallel loops that write parts of tensors, or reduce
func.func @main(%a: tensor<8x6xf64>, %b: tensor<8x6xf64>) -> (tensor<8x6xf64>, tensor<8x6xf64>, tensor<f64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %z = arith.constant 0.0 : f64
  %n = arith.negf %b : tensor<8x6xf64>
  %r:2 = scf.forall (%i) in (8) shared_outs(%o = %n, %q = %a) -> (tensor<8x6xf64>, tensor<8x6xf64>) {
    %s = tensor.extract_slice %a[%i, 0] [1, 6] [1, 1] : tensor<8x6xf64> to tensor<1x6xf64>
    %t = math.exp %s : tensor<1x6xf64>
    %u = tensor.extract_slice %q[%i, 0] [1, 6] [1, 1] : tensor<8x6xf64> to tensor<1x6xf64>
    %v = arith.addf %t, %u : tensor<1x6xf64>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %t into %o[%i, 0] [1, 6] [1, 1] : tensor<1x6xf64> into tensor<8x6xf64>
      tensor.parallel_insert_slice %v into %q[%i, 0] [1, 6] [1, 1] : tensor<1x6xf64> into tensor<8x6xf64>
    }
  }
  %m = arith.negf %r#0 : tensor<8x6xf64>
  %d = scf.parallel (%i) = (%c0) to (%c8) step (%c1) init (%z) -> f64 {
    %s = tensor.extract %r#1[%i, %c1] : tensor<8x6xf64>
    scf.reduce(%s : f64) {
    ^bb0(%x: f64, %y: f64):
      %t = arith.addf %x, %y : f64
      scf.reduce.return %t : f64
    }
  }
  %t = tensor.from_elements %d : tensor<f64>
  return %m, %r#1, %t : tensor<8x6xf64>, tensor<8x6xf64>, tensor<f64>
}
// -----
// an assertion in a body, as torch-mlir checks indices: padding must not trip it
func.func @main(%t: tensor<7x3xf64>, %i: tensor<5xi64> {test.below = 7 : i64}) -> tensor<5x3xf64> {
  %e = tensor.empty() : tensor<5x3xf64>
  %c7 = arith.constant 7 : i64
  %r = linalg.generic {indexing_maps = [affine_map<(i,j)->(i)>, affine_map<(i,j)->(i,j)>], iterator_types = ["parallel","parallel"]} ins(%i : tensor<5xi64>) outs(%e : tensor<5x3xf64>) {
  ^bb0(%k: i64, %o: f64):
    %j = linalg.index 1 : index
    %p = arith.cmpi ult, %k, %c7 : i64
    cf.assert %p, "index must be smaller than dim size"
    %kk = arith.index_cast %k : i64 to index
    %v = tensor.extract %t[%kk, %j] : tensor<7x3xf64>
    linalg.yield %v : f64
  } -> tensor<5x3xf64>
  return %r : tensor<5x3xf64>
}
// -----
// floordiv and mod in maps; math ops of two results
func.func @main(%f: tensor<4x8xf64>, %i: tensor<6x4xi32>) -> (tensor<4x16xf64>, tensor<4x8xf64>, tensor<4x8xf64>, tensor<6x4xi32>) {
  %e = tensor.empty() : tensor<4x16xf64>
  %r = linalg.generic {indexing_maps = [affine_map<(i,j)->(i, j floordiv 2)>, affine_map<(i,j)->(i, j mod 8)>, affine_map<(i,j)->(i,j)>], iterator_types = ["parallel","parallel"]} ins(%f, %f : tensor<4x8xf64>, tensor<4x8xf64>) outs(%e : tensor<4x16xf64>) {
  ^bb0(%k: f64, %l: f64, %o: f64):
    %v = arith.addf %k, %l : f64
    linalg.yield %v : f64
  } -> tensor<4x16xf64>
  %s, %c = math.sincos %f : tensor<4x8xf64>
  %a, %o = arith.mulsi_extended %i, %i : tensor<6x4xi32>
  return %r, %s, %c, %o : tensor<4x16xf64>, tensor<4x8xf64>, tensor<4x8xf64>, tensor<6x4xi32>
}
// -----
// Winograd's transformations
func.func @main(%f: tensor<2x3x3x5xf64>) -> tensor<6x6x5x2xf64> {
  %o = tensor.empty() : tensor<6x6x5x2xf64>
  %r = linalg.winograd_filter_transform fmr(F_4_3) ins(%f : tensor<2x3x3x5xf64>) outs(%o : tensor<6x6x5x2xf64>) -> tensor<6x6x5x2xf64>
  return %r : tensor<6x6x5x2xf64>
}
// -----
// scalar functions and loops in bodies: padding must not divide by zero there, nor loop for ever
func.func private @ratio(%a: i32, %b: i32) -> i32 {
  %c = arith.divsi %a, %b : i32
  return %c : i32
}
func.func @main(%u: tensor<5x4xi32>, %w: tensor<5x4xi32>, %x: tensor<5x4xf64>) -> (tensor<5x4xi32>, tensor<5x4xf64>) {
  %e = tensor.empty() : tensor<5x4xi32>
  %f = tensor.empty() : tensor<5x4xf64>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %one = arith.constant 1.0 : f64
  %half = arith.constant 0.5 : f64
  %r = linalg.generic {indexing_maps = [affine_map<(i,j)->(i,j)>, affine_map<(i,j)->(i,j)>, affine_map<(i,j)->(i,j)>], iterator_types = ["parallel","parallel"]} ins(%u, %w : tensor<5x4xi32>, tensor<5x4xi32>) outs(%e : tensor<5x4xi32>) {
  ^bb0(%k: i32, %l: i32, %o: i32):
    %v = func.call @ratio(%k, %l) : (i32, i32) -> i32
    %s = scf.for %i = %c0 to %l step %c1 iter_args(%a = %v) -> i32 : i32 {
      %b = arith.addi %a, %k : i32
      scf.yield %b : i32
    }
    linalg.yield %s : i32
  } -> tensor<5x4xi32>
  %q = linalg.generic {indexing_maps = [affine_map<(i,j)->(i,j)>, affine_map<(i,j)->(i,j)>], iterator_types = ["parallel","parallel"]} ins(%x : tensor<5x4xf64>) outs(%f : tensor<5x4xf64>) {
  ^bb0(%k: f64, %o: f64):
    %v = scf.while (%a = %k) : (f64) -> f64 {
      %b = math.absf %a : f64
      %p = arith.cmpf ogt, %b, %one : f64
      scf.condition(%p) %a : f64
    } do {
    ^bb0(%a: f64):
      %b = arith.mulf %a, %half : f64
      scf.yield %b : f64
    }
    linalg.yield %v : f64
  } -> tensor<5x4xf64>
  return %r, %q : tensor<5x4xi32>, tensor<5x4xf64>
}
