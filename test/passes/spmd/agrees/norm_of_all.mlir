// RUN: dist-fuzz %s
// RUN: %{root}/tools/dist-opt %s --split-input-file --dist-spmd -o - | FileCheck %s

// Rows that three ranks do not divide, merged with all else but the batch, as a
// group norm of one group does it: beside a dimension of size 1.

// CHECK-LABEL: func.func @main(
// CHECK-NOT: dist.all_gather
// CHECK: dist.all_reduce
// CHECK-NOT: dist.all_gather
dist.mesh @m ["p" = 3]
func.func @main(%x: tensor<2x8x22x14xf64> {dist.sharding = #dist.sharding<@m, [{}, {}, {"p"}, {}]>}) -> tensor<2x8x22x14xf64> {
  %c0 = arith.constant 0.0 : f64
  %c = tensor.collapse_shape %x [[0], [1, 2, 3]] : tensor<2x8x22x14xf64> into tensor<2x2464xf64>
  %y = tensor.expand_shape %c [[0], [1, 2]] output_shape [2, 1, 2464] : tensor<2x2464xf64> into tensor<2x1x2464xf64>
  %e = tensor.empty() : tensor<2x1xf64>
  %f = linalg.fill ins(%c0 : f64) outs(%e : tensor<2x1xf64>) -> tensor<2x1xf64>
  %s = linalg.generic {indexing_maps = [affine_map<(a,b,c)->(a,b,c)>, affine_map<(a,b,c)->(a,b)>], iterator_types = ["parallel","parallel","reduction"]} ins(%y : tensor<2x1x2464xf64>) outs(%f : tensor<2x1xf64>) {
  ^bb0(%i: f64, %o: f64):
    %a = arith.addf %i, %o : f64
    linalg.yield %a : f64
  } -> tensor<2x1xf64>
  %e2 = tensor.empty() : tensor<2x1x2464xf64>
  %r = linalg.generic {indexing_maps = [affine_map<(a,b,c)->(a,b,c)>, affine_map<(a,b,c)->(a,b)>, affine_map<(a,b,c)->(a,b,c)>], iterator_types = ["parallel","parallel","parallel"]} ins(%y, %s : tensor<2x1x2464xf64>, tensor<2x1xf64>) outs(%e2 : tensor<2x1x2464xf64>) {
  ^bb0(%i: f64, %j: f64, %o: f64):
    %a = arith.subf %i, %j : f64
    linalg.yield %a : f64
  } -> tensor<2x1x2464xf64>
  %d = tensor.collapse_shape %r [[0], [1, 2]] : tensor<2x1x2464xf64> into tensor<2x2464xf64>
  %z = tensor.expand_shape %d [[0], [1, 2, 3]] output_shape [2, 8, 22, 14] : tensor<2x2464xf64> into tensor<2x8x22x14xf64>
  return %z : tensor<2x8x22x14xf64>
}

// -----

// Of two groups, taken apart elsewhere than where it was merged.

// CHECK-LABEL: func.func @main(
// CHECK-NOT: dist.all_gather
// CHECK: dist.all_reduce
// CHECK-NOT: dist.all_gather
dist.mesh @m ["p" = 3]
func.func @main(%x: tensor<2x8x22x14xf64> {dist.sharding = #dist.sharding<@m, [{}, {}, {"p"}, {}]>}) -> tensor<2x8x22x14xf64> {
  %c0 = arith.constant 0.0 : f64
  %c = tensor.collapse_shape %x [[0], [1, 2, 3]] : tensor<2x8x22x14xf64> into tensor<2x2464xf64>
  %y = tensor.expand_shape %c [[0], [1, 2]] output_shape [2, 2, 1232] : tensor<2x2464xf64> into tensor<2x2x1232xf64>
  %e = tensor.empty() : tensor<2x2xf64>
  %f = linalg.fill ins(%c0 : f64) outs(%e : tensor<2x2xf64>) -> tensor<2x2xf64>
  %s = linalg.generic {indexing_maps = [affine_map<(a,b,c)->(a,b,c)>, affine_map<(a,b,c)->(a,b)>], iterator_types = ["parallel","parallel","reduction"]} ins(%y : tensor<2x2x1232xf64>) outs(%f : tensor<2x2xf64>) {
  ^bb0(%i: f64, %o: f64):
    %a = arith.addf %i, %o : f64
    linalg.yield %a : f64
  } -> tensor<2x2xf64>
  %e2 = tensor.empty() : tensor<2x2x1232xf64>
  %r = linalg.generic {indexing_maps = [affine_map<(a,b,c)->(a,b,c)>, affine_map<(a,b,c)->(a,b)>, affine_map<(a,b,c)->(a,b,c)>], iterator_types = ["parallel","parallel","parallel"]} ins(%y, %s : tensor<2x2x1232xf64>, tensor<2x2xf64>) outs(%e2 : tensor<2x2x1232xf64>) {
  ^bb0(%i: f64, %j: f64, %o: f64):
    %a = arith.subf %i, %j : f64
    linalg.yield %a : f64
  } -> tensor<2x2x1232xf64>
  %d = tensor.collapse_shape %r [[0], [1, 2]] : tensor<2x2x1232xf64> into tensor<2x2464xf64>
  %z = tensor.expand_shape %d [[0], [1, 2, 3]] output_shape [2, 8, 22, 14] : tensor<2x2464xf64> into tensor<2x8x22x14xf64>
  return %z : tensor<2x8x22x14xf64>
}
