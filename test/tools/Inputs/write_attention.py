#!/usr/bin/python3
"""write_attention.py NAME QUERIES KEYS [TOKENS]: NAME.mlir, attention with so many heads, and its weights NAME.safetensors.

2 sequences of 6 or so many tokens with 8 features, heads of 4. Queries share keys if these are fewer.
"""
import os
import subprocess
import sys

name, queries, keys = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
tokens = int(sys.argv[4]) if len(sys.argv) > 4 else 6
size, features, each = 4, 8, queries // keys
wide, narrow = queries * size, keys * size
text = f"""#x = affine_map<(b, s, n, k) -> (b, s, k)>
#w = affine_map<(b, s, n, k) -> (n, k)>
#y = affine_map<(b, s, n, k) -> (b, s, n)>
#q = affine_map<(b, h, i, j, d) -> (b, i, h, d)>
#k = affine_map<(b, h, i, j, d) -> (b, j, h, d)>
#s = affine_map<(b, h, i, j, d) -> (b, h, i, j)>
!x = tensor<2x{tokens}x{features}xf32>
!heads = tensor<2x{tokens}x{queries}x{size}xf32>
!few = tensor<2x{tokens}x{keys}x{size}xf32>
!scores = tensor<2x{queries}x{tokens}x{tokens}xf32>
func.func @main(%x: !x {{dist.input = "x"}},
                %wq: tensor<{wide}x{features}xf32> {{dist.parameter = "attn.q.weight"}},
                %wk: tensor<{narrow}x{features}xf32> {{dist.parameter = "attn.k.weight"}},
                %wv: tensor<{narrow}x{features}xf32> {{dist.parameter = "attn.v.weight"}},
                %wo: tensor<{features}x{wide}xf32> {{dist.parameter = "attn.o.weight"}}) -> (!x {{dist.output = "y"}}) {{
  %zero = arith.constant 0.0 : f32
"""
for what, width, heads in (("q", wide, queries), ("k", narrow, keys), ("v", narrow, keys)):
    text += f"""  %e{what} = tensor.empty() : tensor<2x{tokens}x{width}xf32>
  %z{what} = linalg.fill ins(%zero : f32) outs(%e{what} : tensor<2x{tokens}x{width}xf32>) -> tensor<2x{tokens}x{width}xf32>
  %{what} = linalg.contract indexing_maps = [#x, #w, #y] {{dist.scope = "attn.{what}"}}
         ins(%x, %w{what} : !x, tensor<{width}x{features}xf32>) outs(%z{what} : tensor<2x{tokens}x{width}xf32>) -> tensor<2x{tokens}x{width}xf32>
  %{what}h = tensor.expand_shape %{what} [[0], [1], [2, 3]] output_shape [2, {tokens}, {heads}, {size}] {{dist.scope = "attn"}}
         : tensor<2x{tokens}x{width}xf32> into tensor<2x{tokens}x{heads}x{size}xf32>
"""
for what in "kv":
    text += f"""  %r{what} = tensor.empty() : tensor<2x{tokens}x{keys}x{each}x{size}xf32>
  %b{what} = linalg.broadcast ins(%{what}h : !few) outs(%r{what} : tensor<2x{tokens}x{keys}x{each}x{size}xf32>) dimensions = [3] {{dist.scope = "attn"}}
  %{what}a = tensor.collapse_shape %b{what} [[0], [1], [2, 3], [4]] {{dist.scope = "attn"}} : tensor<2x{tokens}x{keys}x{each}x{size}xf32> into !heads
"""
text += f"""  %es = tensor.empty() : !scores
  %zs = linalg.fill ins(%zero : f32) outs(%es : !scores) -> !scores
  %scores = linalg.contract indexing_maps = [#q, #k, #s] {{dist.scope = "attn"}} ins(%qh, %ka : !heads, !heads) outs(%zs : !scores) -> !scores
  %p = linalg.softmax {{dist.scope = "attn"}} dimension(3) ins(%scores : !scores) outs(%es : !scores) -> !scores
  %ec = tensor.empty() : !heads
  %zc = linalg.fill ins(%zero : f32) outs(%ec : !heads) -> !heads
  %c = linalg.contract indexing_maps = [#s, #k, #q] {{dist.scope = "attn"}} ins(%p, %va : !scores, !heads) outs(%zc : !heads) -> !heads
  %cf = tensor.collapse_shape %c [[0], [1], [2, 3]] {{dist.scope = "attn"}} : !heads into tensor<2x{tokens}x{wide}xf32>
  %ex = tensor.empty() : !x
  %zx = linalg.fill ins(%zero : f32) outs(%ex : !x) -> !x
  %y = linalg.contract indexing_maps = [#x, #w, #y] {{dist.scope = "attn.o"}}
         ins(%cf, %wo : tensor<2x{tokens}x{wide}xf32>, tensor<{features}x{wide}xf32>) outs(%zx : !x) -> !x
  return %y : !x
}}
"""
with open(name + ".mlir", "w") as file:
    file.write(text)
shapes = {"q": (wide, features), "k": (narrow, features), "v": (narrow, features), "o": (features, wide)}
subprocess.run(
    [sys.executable, os.path.join(os.path.dirname(__file__), "write_weights.py"), name + ".safetensors"]
    + [f"attn.{what}.weight={rows}x{columns}" for what, (rows, columns) in shapes.items()],
    check=True,
)
