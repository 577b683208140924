"""Writes a residual MLP of argv[1] layers, one weight of which is annotated.

Each layer: x + (relu(x W1 + b1) W2 + b2). W1 of the middle layer is sharded by its rows.
"""
import sys

layers, b, h, f = int(sys.argv[1]), 8, 64, 128
x_t, h_t = f"tensor<{b}x{h}xf32>", f"tensor<{b}x{f}xf32>"
args = [f"%x: {x_t}"]
for i in range(layers):
    mark = ' {dist.sharding = #dist.sharding<@m, [{"tp"}, {}]>}' if i == layers // 2 else ""
    args += [f"%w{i}: tensor<{h}x{f}xf32>{mark}", f"%c{i}: tensor<{f}xf32>",
             f"%v{i}: tensor<{f}x{h}xf32>", f"%d{i}: tensor<{h}xf32>"]
print('dist.mesh @m ["tp" = 4]')
print(f"func.func @main({', '.join(args)}) -> {x_t} {{")
print(f"""  %z = arith.constant 0.0 : f32
  %eh = tensor.empty() : {x_t}
  %fh = linalg.fill ins(%z : f32) outs(%eh : {x_t}) -> {x_t}
  %ef = tensor.empty() : {h_t}
  %ff = linalg.fill ins(%z : f32) outs(%ef : {h_t}) -> {h_t}""")
x = "%x"
for i in range(layers):
    print(f"""  %a{i} = linalg.matmul ins({x}, %w{i} : {x_t}, tensor<{h}x{f}xf32>) outs(%ff : {h_t}) -> {h_t}
  %b{i} = linalg.broadcast ins(%c{i} : tensor<{f}xf32>) outs(%ef : {h_t}) dimensions = [0]
  %e{i} = arith.addf %a{i}, %b{i} : {h_t}
  %g{i} = arith.maximumf %e{i}, %ff : {h_t}
  %h{i} = linalg.matmul ins(%g{i}, %v{i} : {h_t}, tensor<{f}x{h}xf32>) outs(%fh : {x_t}) -> {x_t}
  %j{i} = linalg.broadcast ins(%d{i} : tensor<{h}xf32>) outs(%eh : {x_t}) dimensions = [0]
  %k{i} = arith.addf %h{i}, %j{i} : {x_t}
  %y{i} = arith.addf {x}, %k{i} : {x_t}""")
    x = f"%y{i}"
print(f"  return {x} : {x_t}\n}}")
