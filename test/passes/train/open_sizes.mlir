// What may be typed for a size that is open is said as it is typed.
// RUN: not dist-opt %s --dist-train-step=loss=mse 2>&1 | FileCheck %s --check-prefix=LOSS
// RUN: not dist-opt %s "--dist-train-step=loss=mse accumulate=2" 2>&1 | FileCheck %s --check-prefix=INPUT
// RUN: dist-opt %s --dist-bind-sizes=sizes=batch=8 "--dist-train-step=loss=mse accumulate=2" | FileCheck %s
// LOSS: error: takes the loss of a result of type 'tensor<?x4xf32>': it must be a tensor of floats whose sizes are known (--dist-bind-sizes=sizes=batch=8)
// INPUT: error: accumulates over microbatches of input 'x', which is of type 'tensor<?x4xf32>': its sizes must be known (--dist-bind-sizes=sizes=batch=8)
// CHECK: tensor<2x8x4xf32> {dist.dimensions = ["", "batch", ""], dist.input = "x"}
func.func @main(%x: tensor<?x4xf32> {dist.input = "x", dist.dimensions = ["batch", ""]}, %w: tensor<4xf32> {dist.parameter = "w"})
    -> (tensor<?x4xf32> {dist.output = "y"}) {
  %y = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]
    } ins(%w : tensor<4xf32>) outs(%x : tensor<?x4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    linalg.yield %c : f32
  } -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}
