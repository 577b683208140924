// What is made for a constraint with `whole` is made by each device, of what others have brought together already: a
// part of the rows would have to be gathered.
// RUN: dist-opt %s --dist-spmd | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x4xf32>
// CHECK: %[[ALL:.*]] = dist.all_gather %[[X]] dim 0 over "tp"
// CHECK-NOT: dist.
// CHECK: return %{{.*}}, %{{.*}} : tensor<8x2xf32>, tensor<8x4xf32>
#a = affine_map<(i, n, k) -> (i, k)>
#b = affine_map<(i, n, k) -> (k, n)>
#c = affine_map<(i, n, k) -> (i, n)>
dist.mesh @m ["tp" = 4]
func.func @main(%x: tensor<8x4xf32> {dist.input = "x", dist.sharding = #dist.sharding<@m, [{"tp"}, {}]>},
                %wq: tensor<4x8xf32> {dist.parameter = "q", dist.sharding = #dist.sharding<@m, [{}, {"tp"}]>},
                %wk: tensor<4x4xf32> {dist.parameter = "k", dist.sharding = #dist.sharding<@m, [{}, {}]>})
    -> (tensor<8x8xf32> {dist.output = "q", dist.sharding = #dist.sharding<@m, [{}, {"tp"}]>},
        tensor<8x4xf32> {dist.output = "k", dist.sharding = #dist.sharding<@m, [{}, {}]>}) {
  %zero = arith.constant 0.0 : f32
  %e8 = tensor.empty() : tensor<8x8xf32>
  %z8 = linalg.fill ins(%zero : f32) outs(%e8 : tensor<8x8xf32>) -> tensor<8x8xf32>
  %e4 = tensor.empty() : tensor<8x4xf32>
  %z4 = linalg.fill ins(%zero : f32) outs(%e4 : tensor<8x4xf32>) -> tensor<8x4xf32>
  %q = linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %wq : tensor<8x4xf32>, tensor<4x8xf32>) outs(%z8 : tensor<8x8xf32>) -> tensor<8x8xf32>
  %qc = dist.sharding_constraint %q <@m, [{?}, {"tp"}]> : tensor<8x8xf32>
  %k = linalg.contract indexing_maps = [#a, #b, #c] ins(%x, %wk : tensor<8x4xf32>, tensor<4x4xf32>) outs(%z4 : tensor<8x4xf32>) -> tensor<8x4xf32>
  %kc = dist.sharding_constraint %k <@m, [{?}, {}]> whole "tp" : tensor<8x4xf32>
  return %qc, %kc : tensor<8x8xf32>, tensor<8x4xf32>
}
