// RUN: dist-opt %s -split-input-file --dist-differentiate=cotangent=dy | FileCheck %s

// A recurrence over a sequence: the state before each step is kept, the steps
// of the sequence are read again, and gradients are added in place.

// CHECK-LABEL: func.func @recurrence
// CHECK: %[[EMPTY:.*]] = tensor.empty() : tensor<5x4xf32>
// CHECK: %[[FORWARD:.*]]:2 = scf.for %[[I:.*]] = %{{.*}} iter_args(%[[H:.*]] = %{{.*}}, %[[ALL:.*]] = %[[EMPTY]])
// CHECK:   %[[KEPT:.*]] = tensor.insert_slice %[[NEW:.*]] into %[[ALL]][%[[I]], 0] [1, 4] [1, 1]
// CHECK:   scf.yield %[[NEW]], %[[KEPT]]
// CHECK: scf.for %[[J:.*]] = %{{.*}} iter_args(%[[DH:.*]] = %{{.*}}, %[[DXS:.*]] = %{{.*}}) -> (tensor<4xf32>, tensor<5x4xf32>)
// CHECK:   %[[LAST:.*]] = arith.constant {{.*}}4 : index
// CHECK:   %[[ROUND:.*]] = arith.subi %[[LAST]], %[[J]]
// CHECK:   tensor.extract_slice %[[FORWARD]]#1[%[[ROUND]], 0] [1, 4] [1, 1]
// CHECK-NOT: linalg.fill {{.*}}tensor<5x4xf32>
// CHECK:   %[[PART:.*]] = tensor.extract_slice %[[DXS]]
// CHECK:   tensor.insert_slice %{{.*}} into %[[DXS]]
// CHECK:   scf.yield
func.func @recurrence(%xs: tensor<5x4xf32> {dist.parameter = "xs"}, %h0: tensor<4xf32> {dist.input = "h0"}) -> (tensor<4xf32> {dist.output = "y"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %y = scf.for %i = %c0 to %c5 step %c1 iter_args(%h = %h0) -> (tensor<4xf32>) {
    %x = tensor.extract_slice %xs[%i, 0] [1, 4] [1, 1] : tensor<5x4xf32> to tensor<4xf32>
    %0 = arith.addf %h, %x : tensor<4xf32>
    %1 = math.tanh %0 : tensor<4xf32>
    scf.yield %1 : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

// Each side of a branch hands over what its adjoint reads.

// CHECK-LABEL: func.func @branch
// CHECK: %[[FORWARD:.*]]:2 = scf.if %[[C:.*]] -> (tensor<4xf32>, tensor<4xf32>) {
// CHECK:   %[[T:.*]] = math.tanh
// CHECK:   scf.yield %[[T]], %[[T]]
// CHECK: } else {
// CHECK:   %[[NOTHING:.*]] = tensor.empty() : tensor<4xf32>
// CHECK:   scf.yield %{{.*}}, %[[NOTHING]]
// CHECK: scf.if %[[C]] -> (tensor<4xf32>) {
// CHECK:   %{{.*}}#1
// CHECK: } else {
func.func @branch(%x: tensor<4xf32> {dist.parameter = "x"}, %c: i1 {dist.input = "c"}) -> (tensor<4xf32> {dist.output = "y"}) {
  %y = scf.if %c -> (tensor<4xf32>) {
    %0 = math.tanh %x : tensor<4xf32>
    scf.yield %0 : tensor<4xf32>
  } else {
    %0 = arith.addf %x, %x : tensor<4xf32>
    scf.yield %0 : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

// A call is inlined; what the callee asks of its argument stays asked.

dist.mesh @m ["x" = 2]
// CHECK-LABEL: func.func @main
// CHECK-NOT: call
// CHECK: dist.sharding_constraint %{{.*}} <@m, [{"x"}]>
// CHECK: math.tanh
// CHECK: return
func.func private @f(%x: tensor<4xf32> {dist.sharding = #dist.sharding<@m, [{"x"} ]>}) -> tensor<4xf32> {
  %0 = math.tanh %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32> {dist.parameter = "x"}) -> (tensor<4xf32> {dist.output = "y"}) {
  %0 = func.call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// 200 rounds, counted in eight bits.

// CHECK-LABEL: func.func @narrow
// CHECK: %[[PAST:.*]] = arith.subi %{{.*}} : i8
// CHECK: %[[ROUND:.*]] = arith.divui %[[PAST]], %{{.*}} : i8
// CHECK: arith.index_castui %[[ROUND]] : i8 to index
func.func @narrow(%x: tensor<2xf32> {dist.parameter = "x"}) -> (tensor<2xf32> {dist.output = "y"}) {
  %low = arith.constant 1 : i8
  %high = arith.constant -55 : i8
  %step = arith.constant 1 : i8
  %y = scf.for unsigned %i = %low to %high step %step iter_args(%a = %x) -> (tensor<2xf32>) : i8 {
    %0 = math.sin %a : tensor<2xf32>
    scf.yield %0 : tensor<2xf32>
  }
  return %y : tensor<2xf32>
}
