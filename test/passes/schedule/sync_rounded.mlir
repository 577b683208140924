// A sum in f32 that is rounded to bf16, with a bias after it or none: the sync of the layer is that of the sum.
// RUN: dist-opt %s --split-input-file --dist-apply-schedule=report=false --dist-spmd | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK: %[[SUM:.*]] = linalg.matmul
// CHECK: %[[PART:.*]] = dist.reduce_scatter %[[SUM]] sum dim 0 over "tp" {{.*}} : tensor<8x16xf32> -> tensor<4x16xf32>
// CHECK: arith.truncf %[[PART]]
// CHECK-NOT: dist.{{[a-z]+_}}
// CHECK: return
dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  dist.shard "fc" row over "tp"
  dist.sync "fc" fwd_post reduce_scatter dim 0 over "tp"
}
func.func @main(%x: tensor<8x32xbf16>, %w: tensor<32x16xbf16> {dist.parameter = "fc.weight"}) -> tensor<8x16xbf16> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %0 = linalg.matmul {dist.scope = "fc"} ins(%x, %w : tensor<8x32xbf16>, tensor<32x16xbf16>)
         outs(%f : tensor<8x16xf32>) -> tensor<8x16xf32>
  %1 = arith.truncf %0 {dist.scope = "fc"} : tensor<8x16xf32> to tensor<8x16xbf16>
  return %1 : tensor<8x16xbf16>
}

// -----

// CHECK-LABEL: func.func @main
// CHECK: %[[SUM:.*]] = linalg.matmul
// CHECK: %[[WHOLE:.*]] = dist.all_reduce %[[SUM]] sum over "tp" {{.*}} : tensor<8x16xf32>
// CHECK: arith.truncf %[[WHOLE]]
// CHECK: arith.addf
// CHECK-NOT: dist.{{[a-z]+_}}
// CHECK: return
dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  dist.shard "fc" row over "tp"
  dist.sync "fc" fwd_post all_reduce over "tp"
}
func.func @main(%x: tensor<8x32xbf16>, %w: tensor<32x16xbf16> {dist.parameter = "fc.weight"},
                %b: tensor<8x16xbf16> {dist.parameter = "fc.bias"}) -> tensor<8x16xbf16> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %0 = linalg.matmul {dist.scope = "fc"} ins(%x, %w : tensor<8x32xbf16>, tensor<32x16xbf16>)
         outs(%f : tensor<8x16xf32>) -> tensor<8x16xf32>
  %1 = arith.truncf %0 {dist.scope = "fc"} : tensor<8x16xf32> to tensor<8x16xbf16>
  %2 = arith.addf %1, %b {dist.scope = "fc"} : tensor<8x16xbf16>
  return %2 : tensor<8x16xbf16>
}

// -----

// A function of the user's takes the sum as it is, in f32.

// CHECK-LABEL: func.func @main
// CHECK: dist.all_reduce %{{.*}} sum over "tp" {{.*}} : tensor<8x16xf32>
// CHECK: arith.truncf
// CHECK-NOT: dist.{{[a-z]+_}}
// CHECK: return
dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  dist.shard "fc" row over "tp"
  dist.sync "fc" fwd_post @sum
}
func.func private @sum(%part: tensor<8x16xf32> {dist.sharding = #dist.sharding<@m, [{}, {}], partial = sum {"tp"}>})
    -> (tensor<8x16xf32> {dist.sharding = #dist.sharding<@m, [{}, {}]>}) {
  %0 = dist.all_reduce %part sum over "tp" : tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
func.func @main(%x: tensor<8x32xbf16>, %w: tensor<32x16xbf16> {dist.parameter = "fc.weight"}) -> tensor<8x16xbf16> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %0 = linalg.matmul {dist.scope = "fc"} ins(%x, %w : tensor<8x32xbf16>, tensor<32x16xbf16>)
         outs(%f : tensor<8x16xf32>) -> tensor<8x16xf32>
  %1 = arith.truncf %0 {dist.scope = "fc"} : tensor<8x16xf32> to tensor<8x16xbf16>
  return %1 : tensor<8x16xbf16>
}
