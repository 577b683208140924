// Data parallelism, forward: only the batch is sharded, parameters are whole, and nothing is sent.
//
// RUN: dist-opt %s --dist-spmd | FileCheck %s --implicit-check-not="dist.all" --implicit-check-not="dist.reduce" \
// RUN:   --implicit-check-not="dist.collective"

dist.mesh @m ["dp" = 4]

// CHECK-LABEL: func.func @mlp
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x16x32xf32>
// CHECK: linalg.contract {{.*}} ins(%[[X]], %{{.*}} : tensor<2x16x32xf32>, tensor<32x64xf32>) outs(%{{.*}} : tensor<2x16x64xf32>)
// CHECK: math.tanh %{{.*}} : tensor<2x16x64xf32>
// CHECK: return {{.*}} : tensor<2x16x64xf32>
func.func @mlp(%x: tensor<8x16x32xf32> {dist.input = "x", dist.sharding = #dist.sharding<@m, [{"dp"}, {}, {}]>},
               %w: tensor<32x64xf32> {dist.parameter = "w"}) -> tensor<8x16x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x16x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<8x16x64xf32>) -> tensor<8x16x64xf32>
  %h = linalg.contract indexing_maps = [affine_map<(b, s, n, k) -> (b, s, k)>, affine_map<(b, s, n, k) -> (k, n)>,
                                        affine_map<(b, s, n, k) -> (b, s, n)>]
    ins(%x, %w : tensor<8x16x32xf32>, tensor<32x64xf32>) outs(%init : tensor<8x16x64xf32>) -> tensor<8x16x64xf32>
  %y = math.tanh %h : tensor<8x16x64xf32>
  return %y : tensor<8x16x64xf32>
}
