// Of four layers the last one has as many products as the others together.
//
// RUN: dist-opt %s --dist-apply-schedule=schedule=balanced --dist-spmd --dist-recompute \
// RUN:   --dist-pipeline=machine=8xH100 -o %t.mlir 2>%t.said
// RUN: FileCheck %s --check-prefix=STAGES < %t.mlir
// RUN: FileCheck %s --check-prefix=SAID < %t.said
// STAGES: stages = {{\[\[}}"h.0", "h.1", "h.2"], ["h.3"]]
// SAID: dist.stages "h.*" balance: 4 places; 2 stages, of h.0 to h.3
// SAID: remark: balance: the stages are sizes [3, 1]
//
// RUN: not dist-opt %s --dist-apply-schedule=schedule=balanced --dist-spmd --dist-recompute --dist-pipeline 2>&1 \
// RUN:   | FileCheck %s --check-prefix=MACHINE
// MACHINE: balance.mlir:[[#]]:3: error: balance wants --machine
//
// RUN: dist-opt %s --dist-apply-schedule=schedule=given --dist-spmd --dist-recompute --dist-pipeline 2>&1 \
// RUN:   | FileCheck %s --check-prefix=GIVEN
// GIVEN: remark: a stage of the pipeline takes 1.7 times as long as the mean; balanced they are sizes [3, 1]
// GIVEN: stages = {{\[\[}}"h.0"], ["h.1", "h.2", "h.3"]]
dist.mesh @m ["pp" = 2]
dist.schedule @balanced on @m {
  dist.pipeline "gpipe" over "pp"
  dist.stages "h.*" balance
}
dist.schedule @given on @m {
  dist.pipeline "gpipe" over "pp"
  dist.stages "h.*" sizes [1, 3]
}
func.func @main(%x: tensor<4x8xf32> {dist.input = "x"}, %w: tensor<8x8xf32> {dist.parameter = "w"}) -> (tensor<4x8xf32> {dist.output = "y"}) {
  %zero = arith.constant 0.0 : f32
  %n = tensor.empty() : tensor<4x8xf32>
  %e = linalg.fill ins(%zero : f32) outs(%n : tensor<4x8xf32>) -> tensor<4x8xf32>
  %a = linalg.matmul {dist.scope = "h.0"} ins(%x, %w : tensor<4x8xf32>, tensor<8x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %b = linalg.matmul {dist.scope = "h.1"} ins(%a, %w : tensor<4x8xf32>, tensor<8x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %c = linalg.matmul {dist.scope = "h.2"} ins(%b, %w : tensor<4x8xf32>, tensor<8x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %d = linalg.matmul {dist.scope = "h.3"} ins(%c, %w : tensor<4x8xf32>, tensor<8x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %f = linalg.matmul {dist.scope = "h.3"} ins(%d, %w : tensor<4x8xf32>, tensor<8x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %g = linalg.matmul {dist.scope = "h.3"} ins(%f, %w : tensor<4x8xf32>, tensor<8x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %g : tensor<4x8xf32>
}
