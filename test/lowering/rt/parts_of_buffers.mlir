// A collective that is done where it stands reads and writes parts of buffers, if these are contiguous; others go through a copy.
// RUN: dist-opt %s --dist-lower-collectives --dist-decompose-ops --dist-bufferize --cse --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK: %[[WHOLE:.*]] = memref.alloc() {{.*}}: memref<4x6xf32>
// CHECK: %[[A:.*]] = memref.subview %[[WHOLE]][0, 0] [2, 6] [1, 1]
// CHECK: rt.all_reduce {{.*}} outs(%[[A]] : memref<2x6xf32, strided<[6, 1]>>)
// CHECK: %[[B:.*]] = memref.subview %[[WHOLE]][2, 0] [2, 6] [1, 1]
// CHECK: rt.all_reduce {{.*}} outs(%[[B]] : memref<2x6xf32, strided<[6, 1], offset: 12>>)
// CHECK-NOT: memref.copy
// CHECK: return
dist.mesh @m ["tp" = 2]
func.func @main(%a: tensor<2x6xf32> {dist.sharding = #dist.sharding<@m, [{}, {}]>, dist.global_type = tensor<2x6xf32>},
                %b: tensor<2x6xf32> {dist.sharding = #dist.sharding<@m, [{}, {}]>, dist.global_type = tensor<2x6xf32>})
    -> (tensor<6xf32> {dist.sharding = #dist.sharding<@m, [{}]>, dist.global_type = tensor<6xf32>}) {
  %0 = dist.all_reduce %a sum over "tp" on @m : tensor<2x6xf32>
  %1 = dist.all_reduce %b sum over "tp" on @m : tensor<2x6xf32>
  %c = tensor.concat dim(0) %0, %1 : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<6xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<6xf32>) -> tensor<6xf32>
  %s = linalg.reduce { arith.addf } ins(%c : tensor<4x6xf32>) outs(%f : tensor<6xf32>) dimensions = [0]
  return %s : tensor<6xf32>
}
