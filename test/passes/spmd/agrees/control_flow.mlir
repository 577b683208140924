// RUN: dist-fuzz %s

// What enters a loop, what goes around it and what leaves it are placed alike, though
// the user wants it otherwise before, inside and after.
dist.mesh @m ["x" = 2, "y" = 2]
func.func @main(%a: tensor<6x5xf64> {dist.sharding = #dist.sharding<@m, [{"x"}, {"y"}]>}, %w: tensor<5x5xf64>)
    -> (tensor<6x5xf64> {dist.sharding = #dist.sharding<@m, [{"y"}, {"x"}]>}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%x = %a) -> (tensor<6x5xf64>) {
    %0 = dist.sharding_constraint %x <@m, [{}, {"x", "y"}]> : tensor<6x5xf64>
    %1 = linalg.matmul ins(%0, %w : tensor<6x5xf64>, tensor<5x5xf64>) outs(%a : tensor<6x5xf64>) -> tensor<6x5xf64>
    %2 = math.tanh %1 : tensor<6x5xf64>
    scf.yield %2 : tensor<6x5xf64>
  }
  %2 = dist.sharding_constraint %r <@m, [{"x", "y"}, {}]> : tensor<6x5xf64>
  return %2 : tensor<6x5xf64>
}

// -----
// A while loop has two sets of carried values; one may be constants.
dist.mesh @m ["x" = 4]
func.func @main(%a: tensor<6xf64> {dist.sharding = #dist.sharding<@m, [{"x"}]>}) -> (tensor<6xf64>, tensor<6xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %z = arith.constant dense<0.0> : tensor<6xf64>
  %r:3 = scf.while (%i = %c0, %x = %a, %y = %z) : (index, tensor<6xf64>, tensor<6xf64>) -> (index, tensor<6xf64>, tensor<6xf64>) {
    %go = arith.cmpi slt, %i, %c3 : index
    scf.condition(%go) %i, %y, %x : index, tensor<6xf64>, tensor<6xf64>
  } do {
  ^bb0(%i: index, %x: tensor<6xf64>, %y: tensor<6xf64>):
    %n = arith.addi %i, %c1 : index
    %0 = dist.sharding_constraint %x <@m, [{}]> : tensor<6xf64>
    %1 = arith.addf %0, %y : tensor<6xf64>
    scf.yield %n, %1, %x : index, tensor<6xf64>, tensor<6xf64>
  }
  return %r#1, %r#2 : tensor<6xf64>, tensor<6xf64>
}

// -----
// A branch may pass on what the other computes.
dist.mesh @m ["x" = 4]
func.func @main(%a: tensor<6x7xf64> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>}, %n: tensor<i64>, %w: tensor<7x7xf64>)
    -> (tensor<6x7xf64> {dist.sharding = #dist.sharding<@m, [{}, {"x"}]>}) {
  %c2 = arith.constant 2 : i64
  %e = tensor.extract %n[] : tensor<i64>
  %is = arith.cmpi slt, %e, %c2 : i64
  %r = scf.if %is -> (tensor<6x7xf64>) {
    %0 = dist.sharding_constraint %a <@m, [{}, {"x"}]> : tensor<6x7xf64>
    %1 = linalg.matmul ins(%0, %w : tensor<6x7xf64>, tensor<7x7xf64>) outs(%a : tensor<6x7xf64>) -> tensor<6x7xf64>
    scf.yield %1 : tensor<6x7xf64>
  } else {
    scf.yield %a : tensor<6x7xf64>
  }
  return %r : tensor<6x7xf64>
}

// -----
// Two calls whose operands and results are placed differently, before and after the
// function that they call.
dist.mesh @m ["x" = 4]
func.func private @before(%a: tensor<6x5xf64>, %w: tensor<5x5xf64>) -> tensor<6x5xf64> {
  %0 = linalg.matmul ins(%a, %w : tensor<6x5xf64>, tensor<5x5xf64>) outs(%a : tensor<6x5xf64>) -> tensor<6x5xf64>
  return %0 : tensor<6x5xf64>
}
func.func @main(%a: tensor<6x5xf64> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>},
                %b: tensor<6x5xf64> {dist.sharding = #dist.sharding<@m, [{}, {"x"}]>}, %w: tensor<5x5xf64>)
    -> (tensor<6x5xf64> {dist.sharding = #dist.sharding<@m, [{}, {"x"}]>}, tensor<6x5xf64>, tensor<6x5xf64>) {
  %0 = call @before(%a, %w) : (tensor<6x5xf64>, tensor<5x5xf64>) -> tensor<6x5xf64>
  %1 = call @before(%b, %w) : (tensor<6x5xf64>, tensor<5x5xf64>) -> tensor<6x5xf64>
  %2 = call @after(%0, %b) : (tensor<6x5xf64>, tensor<6x5xf64>) -> tensor<6x5xf64>
  %3 = arith.addf %2, %b : tensor<6x5xf64>
  return %0, %1, %3 : tensor<6x5xf64>, tensor<6x5xf64>, tensor<6x5xf64>
}
func.func private @after(%a: tensor<6x5xf64>, %b: tensor<6x5xf64>) -> tensor<6x5xf64> {
  %0 = arith.addf %a, %b : tensor<6x5xf64>
  %1 = dist.sharding_constraint %0 <@m, [{}, {}]> : tensor<6x5xf64>
  return %1 : tensor<6x5xf64>
}
