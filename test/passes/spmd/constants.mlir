// Where constants are: each device holds its part, unless someone needs the whole.
// RUN: dist-opt %s --split-input-file --dist-spmd | FileCheck %s

dist.mesh @m ["x" = 4]

// A uniform constant is made in the size of the part; of another the device holds its part. Nothing whole is left.
// CHECK-LABEL: func.func @parts
// CHECK-NOT: arith.constant dense<[
// CHECK: arith.constant dense<2.000000e+00> : tensor<2xf32>
// CHECK: dist.local_constant dense<{{.*}}> : tensor<8xf32> <@m, [{"x"}]> {dist.scope = "table"} -> tensor<2xf32>
// CHECK-NOT: dist.all_slice
// CHECK: return
func.func @parts(%a: tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{"x"}]>}) -> tensor<8xf32> {
  %two = arith.constant dense<2.0> : tensor<8xf32>
  %c = arith.constant {dist.scope = "table"} dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : tensor<8xf32>
  %0 = arith.mulf %a, %two : tensor<8xf32>
  %1 = arith.addf %0, %c : tensor<8xf32>
  %2 = dist.sharding_constraint %1 <@m, [{"x"}]> : tensor<8xf32>
  return %2 : tensor<8xf32>
}

// Users that want it differently get a part each.
// CHECK-LABEL: func.func @two_ways
// CHECK-DAG: dist.local_constant {{.*}} <@m, [{"x"}, {}]> -> tensor<1x4xi64>
// CHECK-DAG: dist.local_constant {{.*}} <@m, [{}, {"x"}]> -> tensor<4x1xi64>
// CHECK-NOT: dist.all_
// CHECK: return
func.func @two_ways(%a: tensor<4x4xi64> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>},
                    %b: tensor<4x4xi64> {dist.sharding = #dist.sharding<@m, [{}, {"x"}]>})
    -> (tensor<4x4xi64> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>}, tensor<4x4xi64> {dist.sharding = #dist.sharding<@m, [{}, {"x"}]>}) {
  %c = arith.constant dense<[[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]]> : tensor<4x4xi64>
  %0 = arith.addi %a, %c : tensor<4x4xi64>
  %1 = arith.addi %b, %c : tensor<4x4xi64>
  return %0, %1 : tensor<4x4xi64>, tensor<4x4xi64>
}

// Where one user needs it whole, the device has it: parts are slices of that, made once, outside the loop. That another op
// already got a part does not tie this one to it.
// CHECK-LABEL: func.func @whole
// CHECK: %[[C:.*]] = arith.constant dense<{{.*}}> : tensor<8xi64>
// CHECK-NEXT: %[[PART:.*]] = dist.all_slice %[[C]] dim 0 over "x" on @m cause "slice of a constant that is needed whole"
// CHECK-NOT: dist.local_constant
// CHECK-NOT: dist.all_
// CHECK: scf.for
// CHECK-NEXT: arith.addi %{{.*}}, %[[PART]] : tensor<2xi64>
// CHECK: arith.muli %{{.*}}, %[[PART]] : tensor<2xi64>
// CHECK-NEXT: arith.muli %{{.*}}, %[[C]] : tensor<8xi64>
// CHECK-NEXT: return
func.func @whole(%a: tensor<8xi64> {dist.sharding = #dist.sharding<@m, [{"x"}]>}, %w: tensor<8xi64> {dist.sharding = #dist.sharding<@m, [{}]>})
    -> (tensor<8xi64> {dist.sharding = #dist.sharding<@m, [{"x"}]>}, tensor<8xi64> {dist.sharding = #dist.sharding<@m, [{}]>}) {
  %lo = arith.constant 0 : index
  %hi = arith.constant 3 : index
  %step = arith.constant 1 : index
  %0 = scf.for %i = %lo to %hi step %step iter_args(%x = %a) -> tensor<8xi64> {
    %c = arith.constant dense<[2, 7, 1, 8, 2, 8, 1, 8]> : tensor<8xi64>
    %1 = arith.addi %x, %c : tensor<8xi64>
    scf.yield %1 : tensor<8xi64>
  }
  %c = arith.constant dense<[2, 7, 1, 8, 2, 8, 1, 8]> : tensor<8xi64>
  %2 = arith.muli %0, %c : tensor<8xi64>
  %3 = arith.muli %w, %c : tensor<8xi64>
  return %2, %3 : tensor<8xi64>, tensor<8xi64>
}
