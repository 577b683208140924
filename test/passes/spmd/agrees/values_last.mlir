// RUN: dist-fuzz %s
// RUN: %{root}/tools/dist-opt %s --dist-spmd -o - | FileCheck %s

// An attention that nothing follows: queries, keys and values are cut alike, so
// that products could be cut by queries or by keys. Where values are cut does
// not pull weights along, or all scores would move.

// CHECK-NOT: dist.all_to_all
// CHECK-COUNT-2: dist.all_gather {{.*}} : tensor<4x4xf64> -> tensor<4x16xf64>
// CHECK-NOT: dist.all
#q = affine_map<(i, j, d) -> (d, i)>
#k = affine_map<(i, j, d) -> (d, j)>
#s = affine_map<(i, j, d) -> (i, j)>
#p = affine_map<(i, e, j) -> (i, j)>
#v = affine_map<(i, e, j) -> (e, j)>
#o = affine_map<(i, e, j) -> (e, i)>
dist.mesh @m ["n" = 4]
func.func @main(%q: tensor<4x16xf64> {dist.sharding = #dist.sharding<@m, [{}, {"n"}]>}, %k: tensor<4x16xf64> {dist.sharding = #dist.sharding<@m, [{}, {"n"}]>}, %v: tensor<4x16xf64> {dist.sharding = #dist.sharding<@m, [{}, {"n"}]>}) -> tensor<4x16xf64> {
  %zero = arith.constant 0.0 : f64
  %es = tensor.empty() : tensor<16x16xf64>
  %fs = linalg.fill ins(%zero : f64) outs(%es : tensor<16x16xf64>) -> tensor<16x16xf64>
  %s = linalg.contract indexing_maps = [#q, #k, #s] ins(%q, %k : tensor<4x16xf64>, tensor<4x16xf64>) outs(%fs : tensor<16x16xf64>) -> tensor<16x16xf64>
  %p = linalg.softmax dimension(1) ins(%s : tensor<16x16xf64>) outs(%es : tensor<16x16xf64>) -> tensor<16x16xf64>
  %eo = tensor.empty() : tensor<4x16xf64>
  %fo = linalg.fill ins(%zero : f64) outs(%eo : tensor<4x16xf64>) -> tensor<4x16xf64>
  %o = linalg.contract indexing_maps = [#p, #v, #o] ins(%p, %v : tensor<16x16xf64>, tensor<4x16xf64>) outs(%fo : tensor<4x16xf64>) -> tensor<4x16xf64>
  return %o : tensor<4x16xf64>
}
