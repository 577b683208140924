#!/usr/bin/env python3
"""Prints attention whose queries are [keys' heads, group, width], with `heads` over some ranks; its weights go to a file.

grouped_heads.py WEIGHTS.safetensors KEYS' HEADS, GROUP, WIDTH, RANKS
"""

import json
import random
import struct
import sys

kv, g, d, n = map(int, sys.argv[2:6])
S, F, Q, K = 5, 16, kv * g * d, kv * d
random.seed(1)
header, data = {}, b""
for name, shape in {"a.q": [F, Q], "a.k": [F, K], "a.v": [F, K], "a.o": [Q, F]}.items():
    count = shape[0] * shape[1]
    part = struct.pack(f"<{count}f", *(random.gauss(0, 0.3) for _ in range(count)))
    header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(part)]}
    data += part
text = json.dumps(header).encode()
with open(sys.argv[1], "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + data)
print(f"""dist.mesh @m ["tp" = {n}]
dist.schedule @s on @m {{
  dist.shard "a" heads over "tp"
}}
func.func @main(%x: tensor<{S}x{F}xf32> {{dist.input = "x"}}, %wq: tensor<{F}x{Q}xf32> {{dist.parameter = "a.q"}}, %wk: tensor<{F}x{K}xf32> {{dist.parameter = "a.k"}},
    %wv: tensor<{F}x{K}xf32> {{dist.parameter = "a.v"}}, %wo: tensor<{Q}x{F}xf32> {{dist.parameter = "a.o"}}) -> (tensor<{S}x{F}xf32> {{dist.output = "y"}}) {{
  %zero = arith.constant 0.0 : f32
  %eq = tensor.empty() : tensor<{S}x{Q}xf32>
  %ek = tensor.empty() : tensor<{S}x{K}xf32>
  %fq = linalg.fill ins(%zero : f32) outs(%eq : tensor<{S}x{Q}xf32>) -> tensor<{S}x{Q}xf32>
  %fk = linalg.fill ins(%zero : f32) outs(%ek : tensor<{S}x{K}xf32>) -> tensor<{S}x{K}xf32>
  %q = linalg.matmul {{dist.scope = "a"}} ins(%x, %wq : tensor<{S}x{F}xf32>, tensor<{F}x{Q}xf32>) outs(%fq : tensor<{S}x{Q}xf32>) -> tensor<{S}x{Q}xf32>
  %k = linalg.matmul {{dist.scope = "a"}} ins(%x, %wk : tensor<{S}x{F}xf32>, tensor<{F}x{K}xf32>) outs(%fk : tensor<{S}x{K}xf32>) -> tensor<{S}x{K}xf32>
  %v = linalg.matmul {{dist.scope = "a"}} ins(%x, %wv : tensor<{S}x{F}xf32>, tensor<{F}x{K}xf32>) outs(%fk : tensor<{S}x{K}xf32>) -> tensor<{S}x{K}xf32>
  %qs = tensor.expand_shape %q [[0], [1, 2, 3]] output_shape [{S}, {kv}, {g}, {d}] {{dist.scope = "a"}} : tensor<{S}x{Q}xf32> into tensor<{S}x{kv}x{g}x{d}xf32>
  %ks = tensor.expand_shape %k [[0], [1, 2]] output_shape [{S}, {kv}, {d}] {{dist.scope = "a"}} : tensor<{S}x{K}xf32> into tensor<{S}x{kv}x{d}xf32>
  %vs = tensor.expand_shape %v [[0], [1, 2]] output_shape [{S}, {kv}, {d}] {{dist.scope = "a"}} : tensor<{S}x{K}xf32> into tensor<{S}x{kv}x{d}xf32>
  %es = tensor.empty() : tensor<{kv}x{g}x{S}x{S}xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<{kv}x{g}x{S}x{S}xf32>) -> tensor<{kv}x{g}x{S}x{S}xf32>
  %s = linalg.contract indexing_maps = [affine_map<(h, g, i, j, d) -> (i, h, g, d)>, affine_map<(h, g, i, j, d) -> (j, h, d)>, affine_map<(h, g, i, j, d) -> (h, g, i, j)>]
      {{dist.scope = "a"}} ins(%qs, %ks : tensor<{S}x{kv}x{g}x{d}xf32>, tensor<{S}x{kv}x{d}xf32>) outs(%fs : tensor<{kv}x{g}x{S}x{S}xf32>) -> tensor<{kv}x{g}x{S}x{S}xf32>
  %p = linalg.softmax {{dist.scope = "a"}} dimension(3) ins(%s : tensor<{kv}x{g}x{S}x{S}xf32>) outs(%es : tensor<{kv}x{g}x{S}x{S}xf32>) -> tensor<{kv}x{g}x{S}x{S}xf32>
  %ec = tensor.empty() : tensor<{S}x{kv}x{g}x{d}xf32>
  %fc = linalg.fill ins(%zero : f32) outs(%ec : tensor<{S}x{kv}x{g}x{d}xf32>) -> tensor<{S}x{kv}x{g}x{d}xf32>
  %c = linalg.contract indexing_maps = [affine_map<(h, g, i, j, d) -> (h, g, i, j)>, affine_map<(h, g, i, j, d) -> (j, h, d)>, affine_map<(h, g, i, j, d) -> (i, h, g, d)>]
      {{dist.scope = "a"}} ins(%p, %vs : tensor<{kv}x{g}x{S}x{S}xf32>, tensor<{S}x{kv}x{d}xf32>) outs(%fc : tensor<{S}x{kv}x{g}x{d}xf32>) -> tensor<{S}x{kv}x{g}x{d}xf32>
  %cf = tensor.collapse_shape %c [[0], [1, 2, 3]] {{dist.scope = "a"}} : tensor<{S}x{kv}x{g}x{d}xf32> into tensor<{S}x{Q}xf32>
  %eo = tensor.empty() : tensor<{S}x{F}xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<{S}x{F}xf32>) -> tensor<{S}x{F}xf32>
  %o = linalg.matmul {{dist.scope = "a"}} ins(%cf, %wo : tensor<{S}x{Q}xf32>, tensor<{Q}x{F}xf32>) outs(%fo : tensor<{S}x{F}xf32>) -> tensor<{S}x{F}xf32>
  return %o : tensor<{S}x{F}xf32>
}}""")
