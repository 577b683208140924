// RUN: dist-fuzz %s

// Rows of an interleaved table are found on the device that holds them.
dist.mesh @m ["x" = 2, "y" = 2]
func.func @main(%table: tensor<12x5xf64> {dist.sharding = #dist.sharding<@m, [{"x", "y"} groups 3, {}]>},
                %rows: tensor<7x1xi32> {test.below = 12 : i64}) -> tensor<7x5xf64> {
  %0 = tensor.gather %table[%rows] gather_dims([0]) : (tensor<12x5xf64>, tensor<7x1xi32>) -> tensor<7x5xf64>
  return %0 : tensor<7x5xf64>
}

// -----
// A concatenation leaves its dimension interleaved.
dist.mesh @m ["x" = 2]
func.func @main(%a: tensor<2x2x4xi32> {dist.sharding = #dist.sharding<@m, [{"x"}, {}, {}]>},
                %rows: tensor<2x2xi32> {test.below = 2 : i64}) -> tensor<2x4xi32> {
  %0 = tensor.concat dim(0) %a, %a, %a : (tensor<2x2x4xi32>, tensor<2x2x4xi32>, tensor<2x2x4xi32>) -> tensor<6x2x4xi32>
  %1 = tensor.gather %0[%rows] gather_dims([0, 1]) : (tensor<6x2x4xi32>, tensor<2x2xi32>) -> tensor<2x4xi32>
  return %1 : tensor<2x4xi32>
}

// -----
// More devices than rows, on three axes; row numbers that do not divide.
dist.mesh @m ["x" = 3, "y" = 2, "z" = 2]
func.func @main(%table: tensor<4xf64> {dist.sharding = #dist.sharding<@m, [{"x", "y"}]>},
                %rows: tensor<5x1xi32> {test.below = 4 : i64, dist.sharding = #dist.sharding<@m, [{"z"}, {}]>}) -> tensor<5xf64> {
  %0 = tensor.gather %table[%rows] gather_dims([0]) : (tensor<4xf64>, tensor<5x1xi32>) -> tensor<5xf64>
  return %0 : tensor<5xf64>
}

// -----
// One row number alone; a lookup in two dimensions, one of them whole.
dist.mesh @m ["x" = 3, "y" = 2]
func.func @main(%table: tensor<5x4xf64> {dist.sharding = #dist.sharding<@m, [{"x"}, {"y"}]>},
                %row: tensor<1xi64> {test.below = 4 : i64}, %cell: tensor<2xi64> {test.below = 4 : i64}) -> (tensor<4xf64>, tensor<f64>) {
  %0 = tensor.gather %table[%row] gather_dims([0]) : (tensor<5x4xf64>, tensor<1xi64>) -> tensor<4xf64>
  %1 = tensor.gather %table[%cell] gather_dims([0, 1]) : (tensor<5x4xf64>, tensor<2xi64>) -> tensor<f64>
  return %0, %1 : tensor<4xf64>, tensor<f64>
}
