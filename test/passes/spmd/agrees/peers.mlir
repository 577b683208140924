// RUN: dist-fuzz %s

// What other systems got wrong, refused or died of, with the one they do it in.

// Ten rows on four devices (upstream `shard` dialect, JAX, Shardy's partitioner).
dist.mesh @m ["x" = 4]
func.func @main(%a: tensor<10x6xf64> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>}, %w: tensor<6x3xf64>) -> tensor<10x3xf64> {
  %z = arith.constant dense<0.0> : tensor<10x3xf64>
  %0 = linalg.matmul ins(%a, %w : tensor<10x6xf64>, tensor<6x3xf64>) outs(%z : tensor<10x3xf64>) -> tensor<10x3xf64>
  return %0 : tensor<10x3xf64>
}

// -----
// The mean squared error of uneven shards (DTensor).
dist.mesh @m ["x" = 4]
func.func @main(%a: tensor<10x7xf64> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>},
                %b: tensor<10x7xf64> {dist.sharding = #dist.sharding<@m, [{}, {"x"}]>}) -> tensor<f64> {
  %d = arith.subf %a, %b : tensor<10x7xf64>
  %q = arith.mulf %d, %d : tensor<10x7xf64>
  %z = arith.constant dense<0.0> : tensor<f64>
  %s = linalg.reduce { arith.addf } ins(%q : tensor<10x7xf64>) outs(%z : tensor<f64>) dimensions = [0, 1]
  %n = arith.constant dense<70.0> : tensor<f64>
  %r = arith.divf %s, %n : tensor<f64>
  return %r : tensor<f64>
}

// -----
// The infinity norm of partial maxima: |x| does not commute with a maximum (DTensor).
dist.mesh @m ["x" = 4]
func.func @main(%a: tensor<4x10xf64> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>}) -> tensor<f64> {
  %m = arith.constant 0xFFF0000000000000 : f64
  %e = tensor.empty() : tensor<10xf64>
  %f = linalg.fill ins(%m : f64) outs(%e : tensor<10xf64>) -> tensor<10xf64>
  %p = linalg.reduce { arith.maximumf } ins(%a : tensor<4x10xf64>) outs(%f : tensor<10xf64>) dimensions = [0]
  %q = math.absf %p : tensor<10xf64>
  %z = arith.constant dense<0.0> : tensor<f64>
  %r = linalg.reduce { arith.maximumf } ins(%q : tensor<10xf64>) outs(%z : tensor<f64>) dimensions = [0]
  return %r : tensor<f64>
}

// -----
// Minimum, maximum, argmax and pooling where devices have nothing (DTensor hangs).
dist.mesh @m ["x" = 8]
func.func @main(%a: tensor<3x2xf64> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>}) -> (tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xi64>, tensor<2x2xf64>) {
  %lo = arith.constant 0xFFF0000000000000 : f64
  %hi = arith.constant 0x7FF0000000000000 : f64
  %e = tensor.empty() : tensor<2xf64>
  %fl = linalg.fill ins(%lo : f64) outs(%e : tensor<2xf64>) -> tensor<2xf64>
  %fh = linalg.fill ins(%hi : f64) outs(%e : tensor<2xf64>) -> tensor<2xf64>
  %i = arith.constant dense<0> : tensor<2xi64>
  %max = linalg.reduce { arith.maximumf } ins(%a : tensor<3x2xf64>) outs(%fl : tensor<2xf64>) dimensions = [0]
  %min = linalg.reduce { arith.minimumf } ins(%a : tensor<3x2xf64>) outs(%fh : tensor<2xf64>) dimensions = [0]
  %arg:2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]}
      ins(%a : tensor<3x2xf64>) outs(%fl, %i : tensor<2xf64>, tensor<2xi64>) {
  ^bb0(%x: f64, %b: f64, %n: i64):
    %k = linalg.index 0 : index
    %h = arith.index_cast %k : index to i64
    %q = arith.cmpf ogt, %x, %b : f64
    %s = arith.select %q, %x, %b : f64
    %t = arith.select %q, %h, %n : i64
    linalg.yield %s, %t : f64, i64
  } -> (tensor<2xf64>, tensor<2xi64>)
  %w = tensor.empty() : tensor<2xf64>
  %e2 = tensor.empty() : tensor<2x2xf64>
  %f2 = linalg.fill ins(%lo : f64) outs(%e2 : tensor<2x2xf64>) -> tensor<2x2xf64>
  %pool = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i + k, j)>, affine_map<(i, j, k) -> (k)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %w : tensor<3x2xf64>, tensor<2xf64>) outs(%f2 : tensor<2x2xf64>) {
  ^bb0(%x: f64, %u: f64, %s: f64):
    %t = arith.maximumf %x, %s : f64
    linalg.yield %t : f64
  } -> tensor<2x2xf64>
  return %max, %min, %arg#0, %arg#1, %pool : tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xi64>, tensor<2x2xf64>
}

// -----
// Seven heads on four devices: split by head, and split by feature and then cut
// into heads (Megatron and JAX refuse both).
dist.mesh @m ["tp" = 4]
func.func @main(%q: tensor<2x5x28xf64> {dist.sharding = #dist.sharding<@m, [{}, {}, {"tp"}]>},
                %k: tensor<2x5x7x4xf64> {dist.sharding = #dist.sharding<@m, [{}, {}, {"tp"}, {}]>}) -> tensor<2x7x5x5xf64> {
  %h = tensor.expand_shape %q [[0], [1], [2, 3]] output_shape [2, 5, 7, 4] : tensor<2x5x28xf64> into tensor<2x5x7x4xf64>
  %z = arith.constant dense<0.0> : tensor<2x7x5x5xf64>
  %s = linalg.contract indexing_maps = [affine_map<(b, h, i, j, d) -> (b, i, h, d)>, affine_map<(b, h, i, j, d) -> (b, j, h, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>]
      ins(%h, %k : tensor<2x5x7x4xf64>, tensor<2x5x7x4xf64>) outs(%z : tensor<2x7x5x5xf64>) -> tensor<2x7x5x5xf64>
  return %s : tensor<2x7x5x5xf64>
}

// -----
// A dot whose sum is scattered over its rows, which do not divide (Shardy's partitioner aborts).
dist.mesh @m ["x" = 4]
func.func @main(%a: tensor<10x8xf64> {dist.sharding = #dist.sharding<@m, [{}, {"x"}]>},
                %b: tensor<8x3xf64> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>})
    -> (tensor<10x3xf64> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>}) {
  %z = arith.constant dense<0.0> : tensor<10x3xf64>
  %0 = linalg.matmul ins(%a, %b : tensor<10x8xf64>, tensor<8x3xf64>) outs(%z : tensor<10x3xf64>) -> tensor<10x3xf64>
  return %0 : tensor<10x3xf64>
}

// -----
// A constraint that does not divide an argument (JAX).
dist.mesh @m ["x" = 4, "y" = 3]
func.func @main(%a: tensor<10x7xf64>) -> tensor<10x7xf64> {
  %0 = dist.sharding_constraint %a <@m, [{"x"}, {"y"}]> : tensor<10x7xf64>
  %1 = math.exp %0 : tensor<10x7xf64>
  return %1 : tensor<10x7xf64>
}
