// What goes over borders, of programs that are no chain of layers.
//
// RUN: split-file %s %t
// RUN: /usr/bin/python3 %t/weights.py %t/w.safetensors
// RUN: dist-opt %t/weight.mlir --dist-apply-schedule '--dist-train-step=optimizer=sgd,lr=0.5 loss=mse accumulate=4' \
// RUN:   -o %t/weight.step.mlir
// RUN: dist-report %t/weight.step.mlir | FileCheck %t/weight.mlir
// RUN: dist-run %t/weight.step.mlir --weights %t/w.safetensors --random --verify=f64 %{opt}
// RUN: dist-opt %t/product.mlir --dist-apply-schedule=schedule=s '--dist-train-step=optimizer=sgd,lr=0.5 loss=mse of=y accumulate=4' \
// RUN:   -o %t/product.step.mlir
// RUN: dist-report %t/product.step.mlir | FileCheck %t/product.mlir
// RUN: dist-run %t/product.step.mlir --weights %t/w.safetensors --random --verify=f64 %{opt}
// RUN: dist-run %t/product.mlir --schedule-name=forward --weights %t/w.safetensors --random --verify=f64 %{opt}

//--- weight.mlir
// Four layers have one weight: each stage adds up its own gradients, and they are exchanged once.
// CHECK: 0 to 1 forward 1 256 B 4
// CHECK: 1 to 0 back 1 256 B 4
// CHECK: 0 to 1 end 1 512 B 1
// CHECK: 1 to 0 end 1 512 B 1
dist.mesh @m ["pp" = 2]
dist.schedule @s on @m {
  dist.pipeline "1f1b" over "pp"
  dist.stages "h.*"
}
func.func @main(%x: tensor<4x8xf64> {dist.input = "x"}, %w: tensor<8x8xf64> {dist.parameter = "w"})
    -> (tensor<4x8xf64> {dist.output = "y"}) {
  %zero = arith.constant 0.0 : f64
  %n = tensor.empty() : tensor<4x8xf64>
  %e = linalg.fill ins(%zero : f64) outs(%n : tensor<4x8xf64>) -> tensor<4x8xf64>
  %a = linalg.matmul {dist.scope = "h.0"} ins(%x, %w : tensor<4x8xf64>, tensor<8x8xf64>) outs(%e : tensor<4x8xf64>) -> tensor<4x8xf64>
  %b = linalg.matmul {dist.scope = "h.1"} ins(%a, %w : tensor<4x8xf64>, tensor<8x8xf64>) outs(%e : tensor<4x8xf64>) -> tensor<4x8xf64>
  %c = linalg.matmul {dist.scope = "h.2"} ins(%b, %w : tensor<4x8xf64>, tensor<8x8xf64>) outs(%e : tensor<4x8xf64>) -> tensor<4x8xf64>
  %d = linalg.matmul {dist.scope = "h.3"} ins(%c, %w : tensor<4x8xf64>, tensor<8x8xf64>) outs(%e : tensor<4x8xf64>) -> tensor<4x8xf64>
  return %d : tensor<4x8xf64>
}

//--- product.mlir
// What is of no module multiplies values of two stages; and a result is of parameters of both.
// CHECK: 0 to 1 forward 1 256 B 4
// CHECK: 1 to 0 back 1 256 B 4
dist.mesh @m ["pp" = 2]
dist.schedule @s on @m {
  dist.pipeline "zb_h1" over "pp"
  dist.cut_pipeline_stage "b.0"
}
dist.schedule @forward on @m {
  dist.pipeline "gpipe" over "pp"
  dist.cut_pipeline_stage "b.0"
}
func.func @main(%x: tensor<4x8xf64> {dist.input = "x"}, %v: tensor<8x8xf64> {dist.parameter = "v"}, %w: tensor<8x8xf64> {dist.parameter = "w"})
    -> (tensor<4x8xf64> {dist.output = "y"}, tensor<8x8xf64> {dist.output = "both"}) {
  %zero = arith.constant 0.0 : f64
  %n = tensor.empty() : tensor<4x8xf64>
  %e = linalg.fill ins(%zero : f64) outs(%n : tensor<4x8xf64>) -> tensor<4x8xf64>
  %a = linalg.matmul {dist.scope = "a"} ins(%x, %v : tensor<4x8xf64>, tensor<8x8xf64>) outs(%e : tensor<4x8xf64>) -> tensor<4x8xf64>
  %t = linalg.tanh {dist.scope = "a"} ins(%a : tensor<4x8xf64>) outs(%n : tensor<4x8xf64>) -> tensor<4x8xf64>
  %b = linalg.matmul {dist.scope = "b.0"} ins(%t, %w : tensor<4x8xf64>, tensor<8x8xf64>) outs(%e : tensor<4x8xf64>) -> tensor<4x8xf64>
  %c = linalg.tanh {dist.scope = "b.1"} ins(%b : tensor<4x8xf64>) outs(%n : tensor<4x8xf64>) -> tensor<4x8xf64>
  %y = linalg.mul ins(%c, %t : tensor<4x8xf64>, tensor<4x8xf64>) outs(%n : tensor<4x8xf64>) -> tensor<4x8xf64>
  %p = tensor.empty() : tensor<8x8xf64>
  %q = linalg.add ins(%v, %w : tensor<8x8xf64>, tensor<8x8xf64>) outs(%p : tensor<8x8xf64>) -> tensor<8x8xf64>
  return %y, %q : tensor<4x8xf64>, tensor<8x8xf64>
}

//--- weights.py
import array, json, math, struct, sys
shape = {"dtype": "F64", "shape": [8, 8]}
header = {name: {**shape, "data_offsets": [512 * i, 512 * i + 512]} for i, name in enumerate("vw")}
text = json.dumps(header).encode()
with open(sys.argv[1], "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text)
    file.write(array.array("d", [math.cos(i) for i in range(128)]).tobytes())
