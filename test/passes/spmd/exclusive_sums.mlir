// Of rows that are looked up in a table that is cut one device has each, and the others have zeros. Such a sum passes
// through ops that keep the rows apart and make zeros of zeros.
// RUN: dist-opt %s --split-input-file --dist-spmd | FileCheck %s

#id = affine_map<(t, n) -> (t, n)>
#row = affine_map<(t, n) -> (t)>

// A rectifier, a square and a product with other rows of the same indices, which another op has made: the sum of their
// columns is completed, of one number a row.

// CHECK-LABEL: func.func @same_rows
// CHECK: tensor.gather
// CHECK: tensor.gather
// CHECK-NOT: dist.all_reduce
// CHECK: dist.all_reduce %{{.*}} sum over "ep" {{.*}} : tensor<6xf32>
// CHECK-NOT: dist.all_
// CHECK: return
dist.mesh @m ["ep" = 4]
func.func @same_rows(%i: tensor<6x1xi64>,
                     %a: tensor<8x16xf32> {dist.parameter = "a", dist.sharding = #dist.sharding<@m, [{"ep"}, {}]>},
                     %b: tensor<8x16xf32> {dist.parameter = "b", dist.sharding = #dist.sharding<@m, [{"ep"}, {}]>}) -> tensor<6xf32> {
  %i1 = arith.index_cast %i : tensor<6x1xi64> to tensor<6x1xindex>
  %i2 = arith.index_cast %i : tensor<6x1xi64> to tensor<6x1xindex>
  %0 = tensor.gather %a[%i1] gather_dims([0]) : (tensor<8x16xf32>, tensor<6x1xindex>) -> tensor<6x16xf32>
  %1 = tensor.gather %b[%i2] gather_dims([0]) : (tensor<8x16xf32>, tensor<6x1xindex>) -> tensor<6x16xf32>
  %e = tensor.empty() : tensor<6x16xf32>
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
         ins(%0 : tensor<6x16xf32>) outs(%e : tensor<6x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %zero = arith.constant 0.0 : f32
    %x = arith.maximumf %in, %zero : f32
    linalg.yield %x : f32
  } -> tensor<6x16xf32>
  %3 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
         ins(%2, %1 : tensor<6x16xf32>, tensor<6x16xf32>) outs(%e : tensor<6x16xf32>) {
  ^bb0(%in: f32, %in2: f32, %out: f32):
    %x = arith.mulf %in, %in : f32
    %y = arith.mulf %x, %in2 : f32
    linalg.yield %y : f32
  } -> tensor<6x16xf32>
  %c0 = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<6xf32>
  %f1 = linalg.fill ins(%c0 : f32) outs(%e1 : tensor<6xf32>) -> tensor<6xf32>
  %4 = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
         ins(%3 : tensor<6x16xf32>) outs(%f1 : tensor<6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %x = arith.addf %out, %in : f32
    linalg.yield %x : f32
  } -> tensor<6xf32>
  return %4 : tensor<6xf32>
}

// -----

// Rows of other indices are on other devices.

#id = affine_map<(t, n) -> (t, n)>
// CHECK-LABEL: func.func @other_rows
// CHECK: dist.all_reduce %{{.*}} sum over "ep" {{.*}} : tensor<6x16xf32>
// CHECK: dist.all_reduce %{{.*}} sum over "ep" {{.*}} : tensor<6x16xf32>
// CHECK: arith.mulf
// CHECK-NOT: dist.all_
// CHECK: return
dist.mesh @m ["ep" = 4]
func.func @other_rows(%i: tensor<6x1xindex>, %j: tensor<6x1xindex>,
                      %a: tensor<8x16xf32> {dist.parameter = "a", dist.sharding = #dist.sharding<@m, [{"ep"}, {}]>}) -> tensor<6x16xf32> {
  %0 = tensor.gather %a[%i] gather_dims([0]) : (tensor<8x16xf32>, tensor<6x1xindex>) -> tensor<6x16xf32>
  %1 = tensor.gather %a[%j] gather_dims([0]) : (tensor<8x16xf32>, tensor<6x1xindex>) -> tensor<6x16xf32>
  %e = tensor.empty() : tensor<6x16xf32>
  %2 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
         ins(%0, %1 : tensor<6x16xf32>, tensor<6x16xf32>) outs(%e : tensor<6x16xf32>) {
  ^bb0(%in: f32, %in2: f32, %out: f32):
    %x = arith.mulf %in, %in2 : f32
    linalg.yield %x : f32
  } -> tensor<6x16xf32>
  return %2 : tensor<6x16xf32>
}

// -----

// What makes something else of zeros takes whole rows: x log(x) is no number at zero, and a sigmoid is a half.

#id = affine_map<(t, n) -> (t, n)>
// CHECK-LABEL: func.func @no_zeros
// CHECK: dist.all_reduce %{{.*}} sum over "ep" {{.*}} : tensor<6x16xf32>
// CHECK: math.log
// CHECK-NOT: dist.all_
// CHECK: return
dist.mesh @m ["ep" = 4]
func.func @no_zeros(%i: tensor<6x1xindex>,
                    %a: tensor<8x16xf32> {dist.parameter = "a", dist.sharding = #dist.sharding<@m, [{"ep"}, {}]>}) -> tensor<6x16xf32> {
  %0 = tensor.gather %a[%i] gather_dims([0]) : (tensor<8x16xf32>, tensor<6x1xindex>) -> tensor<6x16xf32>
  %e = tensor.empty() : tensor<6x16xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
         ins(%0 : tensor<6x16xf32>) outs(%e : tensor<6x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %x = math.log %in : f32
    %y = arith.mulf %in, %x : f32
    linalg.yield %y : f32
  } -> tensor<6x16xf32>
  return %1 : tensor<6x16xf32>
}

// -----

// To look at what a body makes of zeros does not change it, here the order of its operands.

#id = affine_map<(t, n) -> (t, n)>
// CHECK-LABEL: func.func @as_written
// CHECK: dist.all_reduce
// CHECK: ^bb0(%[[ROW:.*]]: f32, %[[OTHER:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT: arith.maximumf %[[ROW]], %[[OTHER]]
dist.mesh @m ["ep" = 4]
func.func @as_written(%i: tensor<6x1xindex>, %o: tensor<6x16xf32>,
                      %a: tensor<8x16xf32> {dist.parameter = "a", dist.sharding = #dist.sharding<@m, [{"ep"}, {}]>}) -> tensor<6x16xf32> {
  %0 = tensor.gather %a[%i] gather_dims([0]) : (tensor<8x16xf32>, tensor<6x1xindex>) -> tensor<6x16xf32>
  %e = tensor.empty() : tensor<6x16xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
         ins(%0, %o : tensor<6x16xf32>, tensor<6x16xf32>) outs(%e : tensor<6x16xf32>) {
  ^bb0(%in: f32, %in2: f32, %out: f32):
    %x = arith.maximumf %in, %in2 : f32
    linalg.yield %x : f32
  } -> tensor<6x16xf32>
  return %1 : tensor<6x16xf32>
}

// -----

// Added up where they were looked up, rows are complete: each device has its own, also those of a product that is larger
// than they are.

// CHECK-LABEL: func.func @added_back
// CHECK-NOT: dist.{{all|reduce}}_
// CHECK: dist.scatter_add
// CHECK-NOT: dist.{{all|reduce}}_
// CHECK: return
dist.mesh @m ["ep" = 4]
func.func @added_back(%i: tensor<6x1xindex>, %o: tensor<6x8xf32>,
                      %a: tensor<8x16xf32> {dist.parameter = "a", dist.sharding = #dist.sharding<@m, [{"ep"}, {}]>},
                      %b: tensor<8x16x8xf32> {dist.parameter = "b", dist.sharding = #dist.sharding<@m, [{"ep"}, {}, {}]>})
    -> tensor<8x16x8xf32> {
  %0 = tensor.gather %a[%i] gather_dims([0]) : (tensor<8x16xf32>, tensor<6x1xindex>) -> tensor<6x16xf32>
  %e = tensor.empty() : tensor<6x16x8xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(t, n, d) -> (t, n)>, affine_map<(t, n, d) -> (t, d)>, affine_map<(t, n, d) -> (t, n, d)>],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%0, %o : tensor<6x16xf32>, tensor<6x8xf32>) outs(%e : tensor<6x16x8xf32>) {
  ^bb0(%in: f32, %in2: f32, %out: f32):
    %x = arith.mulf %in, %in2 : f32
    linalg.yield %x : f32
  } -> tensor<6x16x8xf32>
  %2 = dist.scatter_add %1 into %b[%i] dims [0] : tensor<6x16x8xf32> into tensor<8x16x8xf32>[tensor<6x1xindex>]
  return %2 : tensor<8x16x8xf32>
}

// -----

// Added up elsewhere, or in a table of which other devices have the rows, they are completed before.

// CHECK-LABEL: func.func @added_elsewhere
// CHECK: %[[ROWS:.*]] = dist.all_reduce %{{.*}} sum over "ep" {{.*}} : tensor<6x16xf32>
// CHECK: dist.scatter_add
// CHECK: dist.scatter_add
// CHECK: return
dist.mesh @m ["ep" = 4]
func.func @added_elsewhere(%i: tensor<6x1xindex>, %j: tensor<6x1xindex>,
                           %a: tensor<8x16xf32> {dist.parameter = "a", dist.sharding = #dist.sharding<@m, [{"ep"}, {}]>},
                           %b: tensor<8x16xf32> {dist.parameter = "b", dist.sharding = #dist.sharding<@m, [{"ep"}, {}]>},
                           %c: tensor<12x16xf32> {dist.parameter = "c", dist.sharding = #dist.sharding<@m, [{"ep"}, {}]>})
    -> (tensor<8x16xf32>, tensor<12x16xf32>) {
  %0 = tensor.gather %a[%i] gather_dims([0]) : (tensor<8x16xf32>, tensor<6x1xindex>) -> tensor<6x16xf32>
  %1 = dist.scatter_add %0 into %b[%j] dims [0] : tensor<6x16xf32> into tensor<8x16xf32>[tensor<6x1xindex>]
  %2 = dist.scatter_add %0 into %c[%i] dims [0] : tensor<6x16xf32> into tensor<12x16xf32>[tensor<6x1xindex>]
  return %1, %2 : tensor<8x16xf32>, tensor<12x16xf32>
}

// -----

// Where the rows are sharded over another axis, what they are added to is pending over that one.

// CHECK-LABEL: func.func @added_back_over_batch
// CHECK: dist.scatter_add
// CHECK-NOT: dist.{{.*}} over {{.*}}"ep"
// CHECK: dist.all_reduce %{{.*}} sum over "dp" {{.*}} : tensor<4x8xf32>
// CHECK: return
dist.mesh @m ["dp" = 2, "ep" = 2]
func.func @added_back_over_batch(%i: tensor<4x1xindex> {dist.sharding = #dist.sharding<@m, [{"dp"}, {}]>},
                                 %a: tensor<8x8xf32> {dist.parameter = "a", dist.sharding = #dist.sharding<@m, [{"ep"}, {}]>})
    -> (tensor<8x8xf32> {dist.sharding = #dist.sharding<@m, [{"ep"}, {}]>}) {
  %0 = tensor.gather %a[%i] gather_dims([0]) : (tensor<8x8xf32>, tensor<4x1xindex>) -> tensor<4x8xf32>
  %1 = dist.scatter_add %0 into %a[%i] dims [0] : tensor<4x8xf32> into tensor<8x8xf32>[tensor<4x1xindex>]
  return %1 : tensor<8x8xf32>
}
