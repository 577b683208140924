"""Writes a module with a constant of 64 x 48 that users want by columns (twice) and by rows, and small ones.

Its columns are used by a column-parallel and, transposed, by a row-parallel product; its rows by an addition.
"""
import struct

rows, columns, batch = 64, 48, 8
values = [((7 * i) % 101 - 50) / 64 for i in range(rows * columns)]
data = "0x04000000" + struct.pack(f"<{len(values)}f", *values).hex().upper()
x_t, w_t, y_t = f"tensor<{batch}x{rows}xf32>", f"tensor<{rows}x{columns}xf32>", f"tensor<{batch}x{columns}xf32>"
print(f"""
dist.mesh @m ["x" = 4]
func.func @main(%x: {x_t} {{dist.input = "x"}},
                %w: {w_t} {{dist.input = "w", dist.sharding = #dist.sharding<@m, [{{"x"}}, {{}}]>}},
                %f: tensor<9xi1> {{dist.input = "f", dist.sharding = #dist.sharding<@m, [{{"x"}}]>}},
                %h: tensor<9xbf16> {{dist.input = "h", dist.sharding = #dist.sharding<@m, [{{"x"}}]>}})
    -> ({x_t} {{dist.output = "z"}}, {w_t} {{dist.output = "s"}}, tensor<9xi1> {{dist.output = "g"}},
        tensor<9xbf16> {{dist.output = "k"}}) {{
  %c = arith.constant dense_resource<table> : {w_t}
  %zero = arith.constant 0.0 : f32
  %ey = tensor.empty() : {y_t}
  %fy = linalg.fill ins(%zero : f32) outs(%ey : {y_t}) -> {y_t}
  %y0 = linalg.matmul ins(%x, %c : {x_t}, {w_t}) outs(%fy : {y_t}) -> {y_t}
  %y = dist.sharding_constraint %y0 <@m, [{{}}, {{"x"}}]> : {y_t}
  %ez = tensor.empty() : {x_t}
  %fz = linalg.fill ins(%zero : f32) outs(%ez : {x_t}) -> {x_t}
  %z = linalg.matmul indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>]
    ins(%y, %c : {y_t}, {w_t}) outs(%fz : {x_t}) -> {x_t}
  %s = arith.addf %w, %c : {w_t}
  %flags = arith.constant dense<[true, false, true, true, false, false, true, false, true]> : tensor<9xi1>
  %g = arith.xori %f, %flags : tensor<9xi1>
  %halves = arith.constant dense<[1.0, 2.0, 3.0, -4.0, 5.0, 0.5, 7.0, 8.0, 9.0]> : tensor<9xbf16>
  %k = arith.addf %h, %halves : tensor<9xbf16>
  return %z, %s, %g, %k : {x_t}, {w_t}, tensor<9xi1>, tensor<9xbf16>
}}
{{-#
  dialect_resources: {{
    builtin: {{
      table: "{data}"
    }}
  }}
#-}}""")
