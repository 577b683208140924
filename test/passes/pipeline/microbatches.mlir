// A forward pass of a batch in two microbatches, which pass through two stages one after the other.
//
// RUN: split-file %s %t
// RUN: dist-opt %t/layers.mlir --dist-distribute=turns=2 | FileCheck %t/layers.mlir
// RUN: not dist-opt %t/mean.mlir --dist-distribute=turns=2 2>&1 | FileCheck %t/mean.mlir

//--- layers.mlir
// CHECK: dist.mesh @m ["pp" = 2]
// CHECK: func.func @main(%[[X:[a-z0-9]*]]: tensor<4x8xf32>
// CHECK: %[[TWO:.*]] = arith.constant 2 : index
// CHECK: scf.for %[[K:.*]] = %{{.*}} to %[[TWO]] step
// CHECK: %[[F:.*]] = dist.task stage 0 forward
// CHECK: arith.muli %[[K]]
// CHECK: tensor.extract_slice %[[X]][%{{.*}}, 0] [2, 8] [1, 1] : tensor<4x8xf32> to tensor<2x8xf32>
// CHECK: linalg.matmul
// CHECK: %[[A:.*]] = dist.transfer %[[F]] stage 0 to 1 : tensor<2x8xf32>
// CHECK: dist.task stage 1 forward
// CHECK: linalg.matmul {{.*}} ins(%[[A]],
// CHECK: tensor.insert_slice {{.*}} : tensor<2x8xf32> into tensor<4x8xf32>
dist.mesh @m ["pp" = 2]
dist.schedule @s on @m {
  dist.pipeline "gpipe" over "pp"
  dist.stages "h.*"
}
func.func @main(%x: tensor<4x8xf32> {dist.input = "x"}, %w: tensor<8x8xf32> {dist.parameter = "w"})
    -> (tensor<4x8xf32> {dist.output = "y"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %a = linalg.matmul {dist.scope = "h.0"} ins(%x, %w : tensor<4x8xf32>, tensor<8x8xf32>) outs(%f : tensor<4x8xf32>) -> tensor<4x8xf32>
  %b = linalg.matmul {dist.scope = "h.1"} ins(%a, %w : tensor<4x8xf32>, tensor<8x8xf32>) outs(%f : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %b : tensor<4x8xf32>
}

//--- mean.mlir
// CHECK: mean.mlir:[[#]]:{{.*}} error: 'dist.all_{{[a-z]+}}' op reads all microbatches at once, which pass through the stages of the pipeline one by one (in module "h.1"): leave out --microbatches
dist.mesh @m ["pp" = 2]
dist.schedule @s on @m {
  dist.pipeline "gpipe" over "pp"
  dist.stages "h.*"
}
func.func @main(%x: tensor<4x8xf32> {dist.input = "x"}, %w: tensor<8x8xf32> {dist.parameter = "w"})
    -> (tensor<4x8xf32> {dist.output = "y"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %a = linalg.matmul {dist.scope = "h.0"} ins(%x, %w : tensor<4x8xf32>, tensor<8x8xf32>) outs(%f : tensor<4x8xf32>) -> tensor<4x8xf32>
  %r = tensor.empty() : tensor<8xf32>
  %n = linalg.fill ins(%zero : f32) outs(%r : tensor<8xf32>) -> tensor<8xf32>
  %sum = linalg.reduce {arith.addf} ins(%a : tensor<4x8xf32>) outs(%n : tensor<8xf32>) dimensions = [0] {dist.scope = "h.1"}
  %all = linalg.broadcast ins(%sum : tensor<8xf32>) outs(%e : tensor<4x8xf32>) dimensions = [0] {dist.scope = "h.1"}
  %b = arith.subf %a, %all {dist.scope = "h.1"} : tensor<4x8xf32>
  return %b : tensor<4x8xf32>
}
