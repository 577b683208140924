// A parameter sharded over an axis that shards an input as well is only stored in parts, and gathered where it is used
// (ZeRO-3, fully sharded data parallelism). Its placement tells nothing about the ops that use it.
//
// RUN: dist-opt %s --dist-spmd --split-input-file | FileCheck %s
// RUN: dist-opt %s --dist-propagate --split-input-file | FileCheck %s --check-prefix=PLACED
// The same in two runs of the tool.
// RUN: dist-opt %s --dist-propagate --split-input-file | dist-opt --dist-insert-reshards --dist-improve-reshards --dist-partition --split-input-file --cse \
// RUN:   | FileCheck %s

dist.mesh @m ["dp" = 4]

// The weight is larger than the activations: moving those would send less, but is not what was asked for.
// CHECK-LABEL: func.func @stored
// CHECK-SAME: tensor<2x64xf32>
// CHECK-SAME: tensor<16x64xf32>
// CHECK: %[[WHOLE:.*]] = dist.all_gather %arg1 dim 0 over "dp"
// CHECK-SAME: gathers operand 1, a parameter only stored over
// CHECK: linalg.matmul ins(%arg0, %[[WHOLE]] : tensor<2x64xf32>, tensor<64x64xf32>)
// CHECK-NOT: dist.{{all|reduce|coll}}
// PLACED-LABEL: func.func @stored
// PLACED-SAME: dist.stored = [#dist.axis<"dp">]
func.func @stored(%x: tensor<8x64xf32> {dist.input = "x", dist.sharding = #dist.sharding<@m, [{"dp"}, {}]>},
                  %w: tensor<64x64xf32> {dist.parameter = "w", dist.sharding = #dist.sharding<@m, [{"dp"}, {}]>}) -> tensor<8x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<8x64xf32>) -> tensor<8x64xf32>
  %y = linalg.matmul ins(%x, %w : tensor<8x64xf32>, tensor<64x64xf32>) outs(%init : tensor<8x64xf32>) -> tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// -----

// No input has the axis: a sharded parameter says where the product is computed.
dist.mesh @m ["tp" = 4]
// CHECK-LABEL: func.func @computed
// CHECK-NOT: dist.all_gather %arg1
// CHECK: linalg.matmul
// CHECK-SAME: tensor<64x16xf32>) outs
// PLACED-LABEL: func.func @computed
// PLACED-NOT: dist.stored
func.func @computed(%x: tensor<8x64xf32> {dist.input = "x"},
                    %w: tensor<64x64xf32> {dist.parameter = "w", dist.sharding = #dist.sharding<@m, [{}, {"tp"}]>}) -> tensor<8x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<8x64xf32>) -> tensor<8x64xf32>
  %y = linalg.matmul ins(%x, %w : tensor<8x64xf32>, tensor<64x64xf32>) outs(%init : tensor<8x64xf32>) -> tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// -----

// A constraint beside the product asks for the axis there: sequence parallelism, whose axis shards input and weights.
dist.mesh @m ["tp" = 4]
// CHECK-LABEL: func.func @constrained
// CHECK: %[[X:.*]] = dist.all_gather %arg0 dim 0 over "tp"
// CHECK: linalg.matmul ins(%[[X]], %arg1 : tensor<8x64xf32>, tensor<64x16xf32>)
// PLACED-LABEL: func.func @constrained
// PLACED-NOT: dist.stored
func.func @constrained(%x: tensor<8x64xf32> {dist.input = "x", dist.sharding = #dist.sharding<@m, [{"tp"}, {}]>},
                       %w: tensor<64x64xf32> {dist.parameter = "w", dist.sharding = #dist.sharding<@m, [{}, {"tp"}]>}) -> tensor<8x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<8x64xf32>) -> tensor<8x64xf32>
  %y = linalg.matmul ins(%x, %w : tensor<8x64xf32>, tensor<64x64xf32>) outs(%init : tensor<8x64xf32>) -> tensor<8x64xf32>
  %c = dist.sharding_constraint %y <@m, [{?}, {"tp"}]> : tensor<8x64xf32>
  return %c : tensor<8x64xf32>
}

// -----

// A constraint on what the product reads beside the parameter, as `row` leaves one: tensor parallel.
dist.mesh @m ["tp" = 4]
// PLACED-LABEL: func.func @row
// PLACED-NOT: dist.stored
// CHECK-LABEL: func.func @row
// CHECK: dist.all_to_all %arg0
// CHECK: linalg.matmul ins(%{{.*}}, %arg1 : tensor<8x16xf32>, tensor<16x64xf32>)
func.func @row(%x: tensor<8x64xf32> {dist.input = "x", dist.sharding = #dist.sharding<@m, [{"tp"}, {}]>},
               %w: tensor<64x64xf32> {dist.parameter = "w", dist.sharding = #dist.sharding<@m, [{"tp"}, {}]>}) -> tensor<8x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<8x64xf32>) -> tensor<8x64xf32>
  %c = dist.sharding_constraint %x <@m, [{}, {"tp"}]> : tensor<8x64xf32>
  %y = linalg.matmul ins(%c, %w : tensor<8x64xf32>, tensor<64x64xf32>) outs(%init : tensor<8x64xf32>) -> tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// -----

// The parameter is read through a transpose.
dist.mesh @m ["tp" = 4]
// PLACED-LABEL: func.func @column_transposed
// PLACED-NOT: dist.stored
// CHECK-LABEL: func.func @column_transposed
// CHECK: linalg.matmul ins(%{{.*}}, %{{.*}} : tensor<8x64xf32>, tensor<64x16xf32>)
func.func @column_transposed(%x: tensor<8x64xf32> {dist.input = "x", dist.sharding = #dist.sharding<@m, [{"tp"}, {}]>},
               %w: tensor<64x64xf32> {dist.parameter = "w", dist.sharding = #dist.sharding<@m, [{"tp"}, {}]>}) -> tensor<8x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<8x64xf32>) -> tensor<8x64xf32>
  %te = tensor.empty() : tensor<64x64xf32>
  %t = linalg.transpose ins(%w : tensor<64x64xf32>) outs(%te : tensor<64x64xf32>) permutation = [1, 0]
  %y = linalg.matmul ins(%x, %t : tensor<8x64xf32>, tensor<64x64xf32>) outs(%init : tensor<8x64xf32>) -> tensor<8x64xf32>
  %c = dist.sharding_constraint %y <@m, [{}, {"tp"}]> : tensor<8x64xf32>
  return %c : tensor<8x64xf32>
}
