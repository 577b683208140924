// RUN: dist-fuzz %s

// A constant that a constraint places is what a sync acts on.
dist.mesh @m ["x" = 3]
func.func @main() -> tensor<8xi1> {
  %true = arith.constant true
  %0 = tensor.splat %true : tensor<8xi1>
  %1 = dist.sharding_constraint %0 <@m, [{"x"}]> : tensor<8xi1>
  %2 = dist.sync %1 fwd_post all_gather dim 0 over "x" : tensor<8xi1>
  return %2 : tensor<8xi1>
}

// -----
// Two rows on five devices cannot be merged into eight elements.
dist.mesh @m ["x" = 5]
func.func @main(%a: tensor<2x4xf64> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>}) -> tensor<2x4xf64> {
  %c = arith.constant dense<2.0> : tensor<8xf64>
  %0 = tensor.expand_shape %c [[0, 1]] output_shape [2, 4] : tensor<8xf64> into tensor<2x4xf64>
  %1 = arith.addf %0, %a : tensor<2x4xf64>
  return %1 : tensor<2x4xf64>
}

// -----
// A constant in three ways: whole, the start of a pending maximum, in parts.
dist.mesh @m ["y" = 3]
func.func @main(%a: tensor<4x5xi64> {dist.sharding = #dist.sharding<@m, [{"y"}, {}]>})
    -> (tensor<5xi64> {dist.sharding = #dist.sharding<@m, [{"y"}]>}, tensor<5xi64>) {
  %c = arith.constant dense<[0, 2, 4, 1, 3]> : tensor<5xi64>
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]}
      ins(%a, %c : tensor<4x5xi64>, tensor<5xi64>) outs(%c : tensor<5xi64>) {
  ^bb0(%x: i64, %y: i64, %s: i64):
    %t = arith.addi %x, %y : i64
    %m = arith.maxsi %s, %t : i64
    linalg.yield %m : i64
  } -> tensor<5xi64>
  return %c, %0 : tensor<5xi64>, tensor<5xi64>
}

// -----
// Five rows on four devices, and another user that needs the columns apart: a part for each.
dist.mesh @m ["x" = 4]
func.func @main(%a: tensor<5x3xf64> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>},
                %b: tensor<5x3xf64> {dist.sharding = #dist.sharding<@m, [{}, {"x"}]>})
    -> (tensor<5x3xf64> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>},
        tensor<5x3xf64> {dist.sharding = #dist.sharding<@m, [{}, {"x"}]>}) {
  %c = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0], [10.0, 11.0, 12.0], [13.0, 14.0, 15.0]]> : tensor<5x3xf64>
  %0 = arith.addf %a, %c : tensor<5x3xf64>
  %1 = arith.mulf %b, %c : tensor<5x3xf64>
  return %0, %1 : tensor<5x3xf64>, tensor<5x3xf64>
}

// -----
// Padding of a constant is not summed.
dist.mesh @m ["x" = 4]
func.func @main(%a: tensor<5xf64> {dist.sharding = #dist.sharding<@m, [{"x"}]>}) -> (tensor<f64>, tensor<f64>) {
  %c = arith.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<5xf64>
  %z = arith.constant dense<0.0> : tensor<f64>
  %0 = linalg.dot ins(%a, %c : tensor<5xf64>, tensor<5xf64>) outs(%z : tensor<f64>) -> tensor<f64>
  %1 = arith.addf %a, %c : tensor<5xf64>
  %2 = linalg.reduce { arith.maximumf } ins(%1 : tensor<5xf64>) outs(%z : tensor<f64>) dimensions = [0]
  return %0, %2 : tensor<f64>, tensor<f64>
}

// -----
// Two axes, the minor one first; parts of an axis; an axis a dimension.
dist.mesh @m ["x" = 2, "y" = 4]
func.func @main(%a: tensor<9x2xi64> {dist.sharding = #dist.sharding<@m, [{"y", "x"}, {}]>},
                %b: tensor<9x2xi64> {dist.sharding = #dist.sharding<@m, [{"y"(2)2}, {"x"}]>})
    -> (tensor<9x2xi64> {dist.sharding = #dist.sharding<@m, [{"y", "x"}, {}]>},
        tensor<9x2xi64> {dist.sharding = #dist.sharding<@m, [{"y"(2)2}, {"x"}]>}) {
  %c = arith.constant dense<[[1, 2], [3, 4], [5, 6], [7, 8], [9, 10], [11, 12], [13, 14], [15, 16], [17, 18]]> : tensor<9x2xi64>
  %0 = arith.addi %a, %c : tensor<9x2xi64>
  %1 = arith.muli %b, %c : tensor<9x2xi64>
  return %0, %1 : tensor<9x2xi64>, tensor<9x2xi64>
}

// -----
// Interleaved, and a dimension that merges a sharded one with others.
dist.mesh @m ["x" = 2, "y" = 2]
func.func @main(%a: tensor<12xi64> {dist.sharding = #dist.sharding<@m, [{"x"} groups 3]>},
                %b: tensor<2x6xi64> {dist.sharding = #dist.sharding<@m, [{}, {"y"}]>})
    -> (tensor<12xi64> {dist.sharding = #dist.sharding<@m, [{"x"} groups 3]>}, tensor<12xi64>) {
  %c = arith.constant dense<[3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8]> : tensor<12xi64>
  %0 = arith.addi %a, %c : tensor<12xi64>
  %m = tensor.collapse_shape %b [[0, 1]] : tensor<2x6xi64> into tensor<12xi64>
  %1 = arith.subi %m, %c : tensor<12xi64>
  return %0, %1 : tensor<12xi64>, tensor<12xi64>
}

// -----
// In a loop, beside a use outside of it; carried around it.
dist.mesh @m ["x" = 3]
func.func @main(%a: tensor<7xi64> {dist.sharding = #dist.sharding<@m, [{"x"}]>})
    -> (tensor<7xi64> {dist.sharding = #dist.sharding<@m, [{"x"}]>}, tensor<7xi64> {dist.sharding = #dist.sharding<@m, [{"x"}]>}) {
  %lo = arith.constant 0 : index
  %hi = arith.constant 3 : index
  %step = arith.constant 1 : index
  %start = arith.constant dense<[9, 8, 7, 6, 5, 4, 3]> : tensor<7xi64>
  %0:2 = scf.for %i = %lo to %hi step %step iter_args(%x = %a, %s = %start) -> (tensor<7xi64>, tensor<7xi64>) {
    %c = arith.constant dense<[1, 2, 3, 4, 5, 6, 7]> : tensor<7xi64>
    %1 = arith.addi %x, %c : tensor<7xi64>
    %2 = arith.muli %s, %1 : tensor<7xi64>
    scf.yield %1, %2 : tensor<7xi64>, tensor<7xi64>
  }
  %3 = arith.addi %0#0, %start : tensor<7xi64>
  return %3, %0#1 : tensor<7xi64>, tensor<7xi64>
}

// -----
// Needed whole by one user, in parts by others, one of them in a branch.
dist.mesh @m ["x" = 4]
func.func @main(%a: tensor<6xi64> {dist.sharding = #dist.sharding<@m, [{"x"}]>}, %w: tensor<6xi64> {dist.sharding = #dist.sharding<@m, [{}]>})
    -> (tensor<6xi64> {dist.sharding = #dist.sharding<@m, [{"x"}]>}, tensor<6xi64> {dist.sharding = #dist.sharding<@m, [{}]>}) {
  %p = arith.constant true
  %0 = scf.if %p -> tensor<6xi64> {
    %c = arith.constant dense<[2, 7, 1, 8, 2, 8]> : tensor<6xi64>
    %1 = arith.addi %a, %c : tensor<6xi64>
    scf.yield %1 : tensor<6xi64>
  } else {
    scf.yield %a : tensor<6xi64>
  }
  %d = arith.constant dense<[2, 7, 1, 8, 2, 8]> : tensor<6xi64>
  %2 = arith.muli %0, %d : tensor<6xi64>
  %3 = arith.muli %w, %d : tensor<6xi64>
  return %2, %3 : tensor<6xi64>, tensor<6xi64>
}

// -----
// Other element types.
dist.mesh @m ["x" = 4]
func.func @main(%a: tensor<5xbf16> {dist.sharding = #dist.sharding<@m, [{"x"}]>},
                %b: tensor<9xi1> {dist.sharding = #dist.sharding<@m, [{"x"}]>},
                %i: tensor<5xi8> {dist.sharding = #dist.sharding<@m, [{"x"}]>})
    -> (tensor<5xbf16> {dist.sharding = #dist.sharding<@m, [{"x"}]>}, tensor<9xi1> {dist.sharding = #dist.sharding<@m, [{"x"}]>},
        tensor<5xi8> {dist.sharding = #dist.sharding<@m, [{"x"}]>}) {
  %c = arith.constant dense<[1.0, -2.0, 0.5, 3.0, 4.0]> : tensor<5xbf16>
  %0 = arith.mulf %a, %c : tensor<5xbf16>
  %t = arith.constant dense<[true, false, true, true, false, false, true, false, true]> : tensor<9xi1>
  %1 = arith.xori %b, %t : tensor<9xi1>
  %j = arith.constant dense<[1, -2, 127, -128, 5]> : tensor<5xi8>
  %2 = arith.addi %i, %j : tensor<5xi8>
  return %0, %1, %2 : tensor<5xbf16>, tensor<9xi1>, tensor<5xi8>
}

// -----
// Resources, of one element too.
dist.mesh @m ["x" = 4]
func.func @main(%a: tensor<5xf64> {dist.sharding = #dist.sharding<@m, [{"x"}]>},
                %b: tensor<5xi1> {dist.sharding = #dist.sharding<@m, [{"x"}]>},
                %o: tensor<1xi64> {dist.sharding = #dist.sharding<@m, [{"x"}]>})
    -> (tensor<5xf64> {dist.sharding = #dist.sharding<@m, [{"x"}]>}, tensor<5xi1> {dist.sharding = #dist.sharding<@m, [{"x"}]>},
        tensor<1xi64> {dist.sharding = #dist.sharding<@m, [{"x"}]>}) {
  %c = arith.constant dense_resource<five> : tensor<5xf64>
  %0 = arith.mulf %a, %c : tensor<5xf64>
  %t = arith.constant dense_resource<flags> : tensor<5xi1>
  %1 = arith.xori %b, %t : tensor<5xi1>
  %s = arith.constant dense_resource<one> : tensor<1xi64>
  %2 = arith.addi %o, %s : tensor<1xi64>
  return %0, %1, %2 : tensor<5xf64>, tensor<5xi1>, tensor<1xi64>
}
{-#
  dialect_resources: {
    builtin: {
      five: "0x08000000000000000000F03F0000000000000040000000000000084000000000000010400000000000001440",
      flags: "0x010000000100010100",
      one: "0x080000000700000000000000"
    }
  }
#-}

// -----
// An element a device, none, and no elements at all.
dist.mesh @m ["x" = 4]
func.func @main(%a: tensor<1xi64> {dist.sharding = #dist.sharding<@m, [{"x"}]>},
                %b: tensor<2x2xi64> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>},
                %e: tensor<0x2xi64> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>})
    -> (tensor<1xi64>, tensor<2x2xi64>, tensor<0x2xi64>) {
  %c = arith.constant dense<[5]> : tensor<1xi64>
  %0 = arith.addi %a, %c : tensor<1xi64>
  %d = arith.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>
  %1 = arith.addi %b, %d : tensor<2x2xi64>
  %f = arith.constant dense<> : tensor<0x2xi64>
  %2 = arith.addi %e, %f : tensor<0x2xi64>
  return %0, %1, %2 : tensor<1xi64>, tensor<2x2xi64>, tensor<0x2xi64>
}
