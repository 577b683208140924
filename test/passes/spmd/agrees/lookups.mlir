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

// -----
// Elements along one dimension, as torch.gather takes them: the other indices only say where they are, so that a device
// looks in its own part; here also the dimension that they are looked up along is cut, and blocks are uneven.
dist.mesh @m ["x" = 3, "y" = 2]
func.func @main(%data: tensor<4x5xf64> {dist.sharding = #dist.sharding<@m, [{"x"}, {"y"}]>},
                %at: tensor<4x3xi64> {test.below = 5 : i64, dist.sharding = #dist.sharding<@m, [{"x"}, {}]>}) -> tensor<4x3xf64> {
  %e = tensor.empty() : tensor<4x3xindex>
  %row = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<4x3xindex>) {
  ^bb0(%out: index):
    %i = linalg.index 0 : index
    linalg.yield %i : index
  } -> tensor<4x3xindex>
  %column = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%at : tensor<4x3xi64>) outs(%e : tensor<4x3xindex>) {
  ^bb0(%in: i64, %out: index):
    %i = arith.index_cast %in : i64 to index
    linalg.yield %i : index
  } -> tensor<4x3xindex>
  %rows = tensor.expand_shape %row [[0], [1, 2]] output_shape [4, 3, 1] : tensor<4x3xindex> into tensor<4x3x1xindex>
  %columns = tensor.expand_shape %column [[0], [1, 2]] output_shape [4, 3, 1] : tensor<4x3xindex> into tensor<4x3x1xindex>
  %pairs = tensor.concat dim(2) %rows, %columns : (tensor<4x3x1xindex>, tensor<4x3x1xindex>) -> tensor<4x3x2xindex>
  %0 = tensor.gather %data[%pairs] gather_dims([0, 1]) : (tensor<4x5xf64>, tensor<4x3x2xindex>) -> tensor<4x3xf64>
  return %0 : tensor<4x3xf64>
}

// -----
// Rows numbered along the other dimension, of which there are as many: that is no tie of the parts.
dist.mesh @m ["x" = 2]
func.func @main(%data: tensor<4x5xf64> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>},
                %at: tensor<3x4xi64> {test.below = 5 : i64, dist.sharding = #dist.sharding<@m, [{}, {"x"}]>}) -> tensor<3x4xf64> {
  %e = tensor.empty() : tensor<3x4xindex>
  %row = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<3x4xindex>) {
  ^bb0(%out: index):
    %i = linalg.index 0 : index
    linalg.yield %i : index
  } -> tensor<3x4xindex>
  %column = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%at : tensor<3x4xi64>) outs(%e : tensor<3x4xindex>) {
  ^bb0(%in: i64, %out: index):
    %i = arith.index_cast %in : i64 to index
    linalg.yield %i : index
  } -> tensor<3x4xindex>
  %rows = tensor.expand_shape %row [[0], [1, 2]] output_shape [3, 4, 1] : tensor<3x4xindex> into tensor<3x4x1xindex>
  %columns = tensor.expand_shape %column [[0], [1, 2]] output_shape [3, 4, 1] : tensor<3x4xindex> into tensor<3x4x1xindex>
  %pairs = tensor.concat dim(2) %rows, %columns : (tensor<3x4x1xindex>, tensor<3x4x1xindex>) -> tensor<3x4x2xindex>
  %0 = tensor.gather %data[%pairs] gather_dims([0, 1]) : (tensor<4x5xf64>, tensor<3x4x2xindex>) -> tensor<3x4xf64>
  return %0 : tensor<3x4xf64>
}

// -----
// Row numbers that are written in places only: elsewhere they are what was there.
dist.mesh @m ["x" = 2]
func.func @main(%data: tensor<4x2xf32> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>}) -> tensor<4x3x2xf32> {
  %zero = arith.constant dense<0> : tensor<4x3x1xindex>
  %row = linalg.generic {indexing_maps = [affine_map<(i) -> (i, 0, 0)>], iterator_types = ["parallel"]}
      outs(%zero : tensor<4x3x1xindex>) {
  ^bb0(%out: index):
    %i = linalg.index 0 : index
    linalg.yield %i : index
  } -> tensor<4x3x1xindex>
  %0 = tensor.gather %data[%row] gather_dims([0]) : (tensor<4x2xf32>, tensor<4x3x1xindex>) -> tensor<4x3x2xf32>
  return %0 : tensor<4x3x2xf32>
}
