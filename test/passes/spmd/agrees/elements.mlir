// RUN: dist-fuzz %s

// An element is written on the device that has it: interleaved, two axes, parts of an axis, uneven.
dist.mesh @m ["x" = 2, "y" = 4]
func.func @main(%a: tensor<12x5xi64> {dist.sharding = #dist.sharding<@m, [{"x"} groups 3, {"y"}]>},
                %b: tensor<9xi64> {dist.sharding = #dist.sharding<@m, [{"y", "x"}]>},
                %c: tensor<3x7xi64> {dist.sharding = #dist.sharding<@m, [{"y"(2)2}, {"x"}]>})
    -> (tensor<12x5xi64>, tensor<9xi64>, tensor<3x7xi64>) {
  %i = arith.constant 9 : index
  %j = arith.constant 4 : index
  %k = arith.constant 8 : index
  %l = arith.constant 2 : index
  %v = arith.constant 77 : i64
  %0 = tensor.insert %v into %a[%i, %j] : tensor<12x5xi64>
  %1 = tensor.insert %v into %b[%k] : tensor<9xi64>
  %2 = tensor.insert %v into %c[%l, %j] : tensor<3x7xi64>
  return %0, %1, %2 : tensor<12x5xi64>, tensor<9xi64>, tensor<3x7xi64>
}

// -----
// In a loop, one after the other, and read again; more devices than elements.
dist.mesh @m ["x" = 5]
func.func @main(%a: tensor<3xi64> {dist.sharding = #dist.sharding<@m, [{"x"}]>}) -> tensor<3xi64> {
  %lo = arith.constant 0 : index
  %hi = arith.constant 3 : index
  %one = arith.constant 1 : index
  %0 = scf.for %i = %lo to %hi step %one iter_args(%x = %a) -> tensor<3xi64> {
    %j = arith.subi %hi, %one : index
    %k = arith.subi %j, %i : index
    %e = tensor.extract %x[%k] : tensor<3xi64>
    %f = arith.addi %e, %e : i64
    %1 = tensor.insert %f into %x[%i] : tensor<3xi64>
    scf.yield %1 : tensor<3xi64>
  }
  return %0 : tensor<3xi64>
}

// -----
// A pending tensor is completed before an element of it is read or replaced.
dist.mesh @m ["x" = 3]
func.func @main(%a: tensor<4x3xi64> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>}) -> (tensor<3xi64>, tensor<2xi64>) {
  %one = arith.constant 1 : index
  %z = arith.constant dense<0> : tensor<3xi64>
  %v = arith.constant 5 : i64
  %s = linalg.reduce { arith.addi } ins(%a : tensor<4x3xi64>) outs(%z : tensor<3xi64>) dimensions = [0]
  %0 = tensor.insert %v into %s[%one] : tensor<3xi64>
  %e = tensor.extract %s[%one] : tensor<3xi64>
  %1 = tensor.from_elements %e, %v : tensor<2xi64>
  return %0, %1 : tensor<3xi64>, tensor<2xi64>
}

// -----
// Into what nobody has filled yet.
dist.mesh @m ["x" = 2]
func.func @main(%a: tensor<2xf64> {dist.sharding = #dist.sharding<@m, [{"x"}]>}) -> (tensor<2xf64> {dist.sharding = #dist.sharding<@m, [{"x"}]>}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = arith.constant 5.0 : f64
  %e = tensor.empty() : tensor<2xf64>
  %0 = tensor.insert %v into %e[%c0] : tensor<2xf64>
  %1 = tensor.insert %v into %0[%c1] : tensor<2xf64>
  %2 = arith.addf %1, %a : tensor<2xf64>
  return %2 : tensor<2xf64>
}

// -----
// Of a size that only running tells.
dist.mesh @m ["x" = 2]
func.func @main(%a: tensor<?x3xf64> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>}) -> (tensor<?x3xf64>, tensor<1xf64>) {
  %i = arith.constant 1 : index
  %j = arith.constant 2 : index
  %v = arith.constant 5.0 : f64
  %e = tensor.extract %a[%i, %j] : tensor<?x3xf64>
  %0 = tensor.insert %v into %a[%i, %j] : tensor<?x3xf64>
  %1 = tensor.from_elements %e : tensor<1xf64>
  return %0, %1 : tensor<?x3xf64>, tensor<1xf64>
}
