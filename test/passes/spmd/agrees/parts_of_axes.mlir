// RUN: dist-fuzz %s

// Parts of an axis whose borders do not nest: 2|3 and 3|2 of six.
dist.mesh @m ["x" = 6]
func.func @main(%a: tensor<4x4xf64> {dist.sharding = #dist.sharding<@m, [{"x"(2)3}, {}]>})
    -> (tensor<4x4xf64> {dist.sharding = #dist.sharding<@m, [{"x"(1)3}, {"x"(3)2}]>}) {
  return %a : tensor<4x4xf64>
}

// -----
dist.mesh @m ["x" = 6]
func.func @main(%a: tensor<4x4x3xf64> {dist.sharding = #dist.sharding<@m, [{"x"(1)3}, {}, {}]>})
    -> (tensor<4x4x3xf64> {dist.sharding = #dist.sharding<@m, [{"x"(1)2}, {"x"(2)3}, {}]>}) {
  return %a : tensor<4x4x3xf64>
}

// -----
// The whole axis, taken apart by a reshape into 2|3, against a part of 3|2.
dist.mesh @m ["x" = 6]
func.func @main(%a: tensor<6x3xf64> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>},
                %b: tensor<3x3xf64> {dist.sharding = #dist.sharding<@m, [{"x"(1)3}, {}]>}) -> tensor<15x3xf64> {
  %0 = tensor.concat dim(0) %a, %a, %b : (tensor<6x3xf64>, tensor<6x3xf64>, tensor<3x3xf64>) -> tensor<15x3xf64>
  return %0 : tensor<15x3xf64>
}

// -----
// Minor before major, on a dimension that six devices do not divide.
dist.mesh @m ["x" = 12]
func.func @main(%a: tensor<10x2xi64> {dist.sharding = #dist.sharding<@m, [{"x"(2)6, "x"(1)2}, {}]>})
    -> (tensor<10x2xi64> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>}) {
  return %a : tensor<10x2xi64>
}
