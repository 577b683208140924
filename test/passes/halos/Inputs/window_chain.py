#!/usr/bin/python3
"""The program of one of 4 devices: layers that follow each other, each with windows of 3 of 1,024 rows.

    window_chain.py LAYERS [SKIP]

With SKIP each layer adds the rows that the layer so many before it was made of.
"""

import sys

BLOCK = "tensor<1024x16xf32>"
WIDE = "tensor<1026x16xf32>"
WINDOW = "tensor<3x16x16xf32>"
WHOLE = 'dist.sharding = #dist.sharding<@m, [{}, {}, {}]>, dist.global_type = ' + WINDOW
ROWS = 'dist.sharding = #dist.sharding<@m, [{"sp"}, {}]>, dist.global_type = tensor<4096x16xf32>'

layers = int(sys.argv[1])
skip = int(sys.argv[2]) if len(sys.argv) > 2 else None
print(f"""#rows = affine_map<(o, f) -> (o, f)>
#in = affine_map<(o, f, k, c) -> (o + k, c)>
#window = affine_map<(o, f, k, c) -> (k, c, f)>
#out = affine_map<(o, f, k, c) -> (o, f)>
dist.mesh @m ["sp" = 4]
func.func @main(%v0: {BLOCK} {{dist.input = "x", {ROWS}}}, %w: {WINDOW} {{dist.input = "w", {WHOLE}}}) -> ({BLOCK} {{dist.output = "y", {ROWS}}}) {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : {BLOCK}
  %f = linalg.fill ins(%zero : f32) outs(%e : {BLOCK}) -> {BLOCK}""")
for layer in range(layers):
    adds = skip is not None and layer >= skip
    print(f"""  %h{layer} = dist.halo_exchange %v{layer} dim 0 low 1 high 1 over "sp" on @m : {BLOCK} -> {WIDE}
  %{"u" if adds else "v"}{layer + 1} = linalg.generic {{indexing_maps = [#in, #window, #out], iterator_types = ["parallel", "parallel", "reduction", "reduction"]}} ins(%h{layer}, %w : {WIDE}, {WINDOW}) outs(%f : {BLOCK}) {{
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  }} -> {BLOCK}""")
    if adds:
        print(f"""  %v{layer + 1} = linalg.generic {{indexing_maps = [#rows, #rows, #rows], iterator_types = ["parallel", "parallel"]}} ins(%u{layer + 1}, %v{layer - skip} : {BLOCK}, {BLOCK}) outs(%e : {BLOCK}) {{
  ^bb0(%a: f32, %b: f32, %c: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  }} -> {BLOCK}""")
print(f"""  return %v{layers} : {BLOCK}
}}""")
