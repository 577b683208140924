// Batch and heads that are merged, with heads that devices shard unevenly: what reads them does so apart.
// RUN: dist-opt %s --dist-separate-dims --split-input-file | FileCheck %s
// RUN: dist-opt %s --dist-spmd --split-input-file | FileCheck %s --check-prefix=SPMD

#score = affine_map<(g, i, j, d) -> (g, i, d)>
#key = affine_map<(g, i, j, d) -> (g, j, d)>
#out = affine_map<(g, i, j, d) -> (g, i, j)>
#id = affine_map<(g, i, j) -> (g, i, j)>
#row = affine_map<(g, i, j) -> (g, j)>

// Products, what is added (also where it was computed merged), and back.
// CHECK-LABEL: func.func @scores
// CHECK-NOT: tensor<8x
// CHECK: %[[BIAS:.*]] = linalg.generic {{.*}} ins(%arg2 : tensor<2x4x5xf32>) {{.*}} {dist.scope = "bias"} {
// CHECK-NEXT: ^bb0
// CHECK-NEXT: arith.negf %{{[^ ]*}} : f32
// CHECK: linalg.generic {{.*}} ins(%arg0, %arg1 : tensor<2x4x5x3xf32>, tensor<2x4x5x3xf32>) {{.*}} {dist.scope = "attention"} {
// CHECK-NEXT: ^bb0
// CHECK-NEXT: arith.mulf %{{[^ ]*}}, %{{[^ ]*}} : f32
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}} ins(%{{.*}}, %[[BIAS]] : tensor<2x4x5x5xf32>, tensor<2x4x5xf32>)
// CHECK: return %[[SUM]]
// SPMD-LABEL: func.func @scores
// SPMD-NOT: dist.all_{{gather|reduce|to_all}}
// SPMD: return
dist.mesh @m ["tp" = 3]
func.func @scores(%q: tensor<2x4x5x3xf32> {dist.sharding = #dist.sharding<@m, [{}, {"tp"}, {}, {}]>},
                  %k: tensor<2x4x5x3xf32>, %a: tensor<2x4x5xf32>) -> tensor<2x4x5x5xf32> {
  %zero = arith.constant 0.0 : f32
  %qs = tensor.collapse_shape %q [[0, 1], [2], [3]] : tensor<2x4x5x3xf32> into tensor<8x5x3xf32>
  %ks = tensor.collapse_shape %k [[0, 1], [2], [3]] : tensor<2x4x5x3xf32> into tensor<8x5x3xf32>
  %as = tensor.collapse_shape %a [[0, 1], [2]] : tensor<2x4x5xf32> into tensor<8x5xf32>
  %small = tensor.empty() : tensor<8x5xf32>
  %bias = linalg.generic {indexing_maps = [affine_map<(g, j) -> (g, j)>, affine_map<(g, j) -> (g, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%as : tensor<8x5xf32>) outs(%small : tensor<8x5xf32>) attrs = {dist.scope = "bias"} {
  ^bb0(%x: f32, %y: f32):
    %n = arith.negf %x : f32
    linalg.yield %n : f32
  } -> tensor<8x5xf32>
  %empty = tensor.empty() : tensor<8x5x5xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x5x5xf32>) -> tensor<8x5x5xf32>
  %s = linalg.contract indexing_maps = [#score, #key, #out] {dist.scope = "attention"}
      ins(%qs, %ks : tensor<8x5x3xf32>, tensor<8x5x3xf32>) outs(%fill : tensor<8x5x5xf32>) -> tensor<8x5x5xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s, %bias : tensor<8x5x5xf32>, tensor<8x5xf32>) outs(%empty : tensor<8x5x5xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %n = arith.addf %x, %y : f32
    linalg.yield %n : f32
  } -> tensor<8x5x5xf32>
  %r = tensor.expand_shape %sum [[0, 1], [2], [3]] output_shape [2, 4, 5, 5] : tensor<8x5x5xf32> into tensor<2x4x5x5xf32>
  return %r : tensor<2x4x5x5xf32>
}

// -----

#map = affine_map<(a, b, c) -> (a, b, c)>
#flat = affine_map<(a, b) -> (a, b)>

// Elements that are looked up where the merged index is that of the result.
// CHECK-LABEL: func.func @lookup
// CHECK: %[[BATCH:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<2x4x5x1xi64>)
// CHECK: linalg.index 0
// CHECK: %[[HEAD:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<2x4x5x1xi64>)
// CHECK: linalg.index 1
// CHECK: %[[TUPLES:.*]] = tensor.concat dim(3) %[[BATCH]], %[[HEAD]], %{{.*}} -> tensor<2x4x5x3xi64>
// CHECK: %[[FOUND:.*]] = tensor.gather %arg0[%[[TUPLES]]] gather_dims([0, 1, 2]) : (tensor<2x4x7xf32>, tensor<2x4x5x3xi64>) -> tensor<2x4x5xf32>
// CHECK: linalg.generic {{.*}} ins(%[[FOUND]] : tensor<2x4x5xf32>)
// SPMD-LABEL: func.func @lookup
// SPMD-NOT: dist.all_{{gather|reduce|to_all}}
// SPMD: return
dist.mesh @m ["tp" = 3]
func.func @lookup(%t: tensor<2x4x7xf32> {dist.sharding = #dist.sharding<@m, [{}, {"tp"}, {}]>}, %i: tensor<8x5x1xi64>) -> tensor<2x4x5xf32> {
  %ts = tensor.collapse_shape %t [[0, 1], [2]] : tensor<2x4x7xf32> into tensor<8x7xf32>
  %e = tensor.empty() : tensor<8x5x1xi64>
  %rows = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel"]} outs(%e : tensor<8x5x1xi64>) {
  ^bb0(%x: i64):
    %n = linalg.index 0 : index
    %c = arith.index_cast %n : index to i64
    linalg.yield %c : i64
  } -> tensor<8x5x1xi64>
  %tuples = tensor.concat dim(2) %rows, %i : (tensor<8x5x1xi64>, tensor<8x5x1xi64>) -> tensor<8x5x2xi64>
  %found = tensor.gather %ts[%tuples] gather_dims([0, 1]) : (tensor<8x7xf32>, tensor<8x5x2xi64>) -> tensor<8x5xf32>
  %f = tensor.empty() : tensor<8x5xf32>
  %r = linalg.generic {indexing_maps = [#flat, #flat], iterator_types = ["parallel", "parallel"]} ins(%found : tensor<8x5xf32>) outs(%f : tensor<8x5xf32>) {
  ^bb0(%x: f32, %y: f32):
    %n = arith.negf %x : f32
    linalg.yield %n : f32
  } -> tensor<8x5xf32>
  %apart = tensor.expand_shape %r [[0, 1], [2]] output_shape [2, 4, 5] : tensor<8x5xf32> into tensor<2x4x5xf32>
  return %apart : tensor<2x4x5xf32>
}

// -----

// Heads that the devices divide can be sharded as they are.
// CHECK-LABEL: func.func @even
// CHECK: tensor.collapse_shape
// CHECK: tensor<8x5xf32>
// SPMD-LABEL: func.func @even
dist.mesh @m ["tp" = 2]
func.func @even(%a: tensor<2x4x5xf32> {dist.sharding = #dist.sharding<@m, [{}, {"tp"}, {}]>}) -> tensor<8x5xf32> {
  %as = tensor.collapse_shape %a [[0, 1], [2]] : tensor<2x4x5xf32> into tensor<8x5xf32>
  %e = tensor.empty() : tensor<8x5xf32>
  %r = linalg.exp ins(%as : tensor<8x5xf32>) outs(%e : tensor<8x5xf32>) -> tensor<8x5xf32>
  return %r : tensor<8x5xf32>
}

// -----

// A sum over what is merged is one over what it is made of: each device adds what it has. A product stays one sum.
// CHECK-LABEL: func.func @summed
// CHECK-NOT: tensor.collapse_shape
// CHECK: linalg.generic {{.*}}["parallel", "reduction", "reduction"]{{.*}} ins(%arg0 : tensor<5x4x3xf32>)
// CHECK-LABEL: func.func @product
// CHECK: tensor.collapse_shape
// CHECK: linalg.matvec
// SPMD-LABEL: func.func @summed
// SPMD-NOT: dist.all_gather
// SPMD: dist.all_reduce %{{.*}} sum over "tp" {{.*}} : tensor<5xf32>
// SPMD-NOT: dist.all_gather
// SPMD-LABEL: func.func @product
dist.mesh @m ["tp" = 2]
func.func @summed(%a: tensor<5x4x3xf32> {dist.sharding = #dist.sharding<@m, [{}, {}, {"tp"}]>}, %init: tensor<5xf32>) -> tensor<5xf32> {
  %as = tensor.collapse_shape %a [[0], [1, 2]] : tensor<5x4x3xf32> into tensor<5x12xf32>
  %r = linalg.reduce { arith.addf } ins(%as : tensor<5x12xf32>) outs(%init : tensor<5xf32>) dimensions = [1]
  return %r : tensor<5xf32>
}
func.func @product(%a: tensor<5x4x3xf32> {dist.sharding = #dist.sharding<@m, [{}, {}, {"tp"}]>}, %x: tensor<12xf32>, %init: tensor<5xf32>) -> tensor<5xf32> {
  %as = tensor.collapse_shape %a [[0], [1, 2]] : tensor<5x4x3xf32> into tensor<5x12xf32>
  %r = linalg.matvec ins(%as, %x : tensor<5x12xf32>, tensor<12xf32>) outs(%init : tensor<5xf32>) -> tensor<5xf32>
  return %r : tensor<5xf32>
}

// -----

// The index along what was merged is computed.
// CHECK-LABEL: func.func @index
// CHECK-NOT: affine.apply
// CHECK: %[[HEAD:.*]] = linalg.index 1
// CHECK: %[[BATCH:.*]] = linalg.index 0
// CHECK: %[[SUM:.*]] = arith.muli %[[BATCH]], %c4
// CHECK: arith.addi %[[HEAD]], %[[SUM]]
dist.mesh @m ["tp" = 3]
func.func @index(%a: tensor<2x4xindex> {dist.sharding = #dist.sharding<@m, [{}, {"tp"}]>}) -> tensor<2x4xindex> {
  %as = tensor.collapse_shape %a [[0, 1]] : tensor<2x4xindex> into tensor<8xindex>
  %e = tensor.empty() : tensor<8xindex>
  %r = linalg.generic {indexing_maps = [affine_map<(d) -> (d)>, affine_map<(d) -> (d)>], iterator_types = ["parallel"]} ins(%as : tensor<8xindex>) outs(%e : tensor<8xindex>) {
  ^bb0(%x: index, %y: index):
    %i = linalg.index 0 : index
    %n = arith.addi %x, %i : index
    linalg.yield %n : index
  } -> tensor<8xindex>
  %apart = tensor.expand_shape %r [[0, 1]] output_shape [2, 4] : tensor<8xindex> into tensor<2x4xindex>
  return %apart : tensor<2x4xindex>
}

// -----

// A cotangent follows what its primal's dimensions are made of.
// CHECK-LABEL: func.func @follow
// CHECK: %[[Y:.*]] = linalg.generic {{.*}} ins(%arg0 : tensor<2x4xf32>)
// CHECK: %[[D:.*]] = dist.follow %arg1 like %[[Y]] moved {dist.backward} : tensor<2x4xf32>
// CHECK: linalg.generic {{.*}} ins(%[[D]] : tensor<2x4xf32>) {{.*}} {dist.backward} {
dist.mesh @m ["tp" = 3]
func.func @follow(%a: tensor<2x4xf32> {dist.sharding = #dist.sharding<@m, [{}, {"tp"}]>}, %dy: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %as = tensor.collapse_shape %a [[0, 1]] : tensor<2x4xf32> into tensor<8xf32>
  %e = tensor.empty() : tensor<8xf32>
  %y = linalg.exp ins(%as : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %apart = tensor.expand_shape %y [[0, 1]] output_shape [2, 4] : tensor<8xf32> into tensor<2x4xf32>
  %dys = tensor.collapse_shape %dy [[0, 1]] {dist.backward} : tensor<2x4xf32> into tensor<8xf32>
  %d = dist.follow %dys like %y moved {dist.backward} : tensor<8xf32>
  %dx = linalg.exp {dist.backward} ins(%d : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %dapart = tensor.expand_shape %dx [[0, 1]] output_shape [2, 4] {dist.backward} : tensor<8xf32> into tensor<2x4xf32>
  return %apart, %dapart : tensor<2x4xf32>, tensor<2x4xf32>
}

// -----

// A pad, and an op of unknown sizes, read what is merged as it is, beside one that reads it apart.
// CHECK-LABEL: func.func @others
// CHECK: %[[MERGED:.*]] = tensor.collapse_shape %arg0
// CHECK: linalg.generic {{.*}} ins(%arg0 : tensor<2x4x5xf32>) outs(%{{.*}} : tensor<2x4x5xf32>)
// CHECK: tensor.pad %[[MERGED]]
// CHECK: linalg.exp ins(%[[MERGED]] : tensor<8x5xf32>) outs(%arg1 : tensor<?x?xf32>)
dist.mesh @m ["tp" = 3]
func.func @others(%a: tensor<2x4x5xf32> {dist.sharding = #dist.sharding<@m, [{}, {"tp"}, {}]>}, %b: tensor<?x?xf32>) -> (tensor<2x4x5xf32>, tensor<8x7xf32>, tensor<?x?xf32>) {
  %zero = arith.constant 0.0 : f32
  %as = tensor.collapse_shape %a [[0, 1], [2]] : tensor<2x4x5xf32> into tensor<8x5xf32>
  %e = tensor.empty() : tensor<8x5xf32>
  %r = linalg.exp ins(%as : tensor<8x5xf32>) outs(%e : tensor<8x5xf32>) -> tensor<8x5xf32>
  %apart = tensor.expand_shape %r [[0, 1], [2]] output_shape [2, 4, 5] : tensor<8x5xf32> into tensor<2x4x5xf32>
  %p = tensor.pad %as low[0, 1] high[0, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<8x5xf32> to tensor<8x7xf32>
  %s = linalg.exp ins(%as : tensor<8x5xf32>) outs(%b : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %apart, %p, %s : tensor<2x4x5xf32>, tensor<8x7xf32>, tensor<?x?xf32>
}
