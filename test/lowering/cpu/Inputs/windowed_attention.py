#!/usr/bin/env python3
"""Prints attention of windows: query i sees the keys from i - left to i + right, and the first ones (--sinks).

Keys and values have a head for --group heads of the queries. --write makes a file of random ones, of which the first is
--number.
"""

import argparse
import random

import npy

parser = argparse.ArgumentParser()
for name, value in dict(heads=4, group=1, sequence=1100, size=16, left=0, right=0, sinks=0).items():
    parser.add_argument(f"--{name}", type=int, default=value)
parser.add_argument("--nan_is_zero", action="store_true")
parser.add_argument("--element", default="f32")
parser.add_argument("--write")
parser.add_argument("--number", type=float)
a = parser.parse_args()
if a.write:
    shape = (a.sequence, a.heads // a.group, a.size)
    rng = random.Random(7)
    values = [a.number] + [rng.gauss(0, 1) for _ in range(shape[0] * shape[1] * shape[2] - 1)]
    npy.write(a.write, "f32", shape, values)
tensor = f"tensor<{a.sequence}x{a.heads // a.group}x{a.group}x{a.size}x{a.element}>"
keys = f"tensor<{a.sequence}x{a.heads // a.group}x{a.size}x{a.element}>"
minus = {"f32": "0xFF800000", "f64": "0xFFF0000000000000"}
score = "f64" if a.element == "f64" else "f32"
print(f"""#q = affine_map<(h, g, i, j, d, e) -> (i, h, g, d)>
#k = affine_map<(h, g, i, j, d, e) -> (j, h, d)>
#v = affine_map<(h, g, i, j, d, e) -> (j, h, e)>
#o = affine_map<(h, g, i, j, d, e) -> (i, h, g, e)>
func.func @main(%q: {tensor} {{dist.input = "q"}}, %k: {keys} {{dist.input = "k"}}, %v: {keys} {{dist.input = "v"}})
    -> ({tensor} {{dist.output = "o"}}) {{
  %init = tensor.empty() : {tensor}
  %inf = arith.constant {minus[score]} : {score}
  %left = arith.constant {a.left} : index
  %right = arith.constant {a.right} : index
  %sinks = arith.constant {a.sinks} : index
  %0 = dist.attention(%q, %k, %v : {tensor}, {keys}, {keys}) outs(%init : {tensor})
      maps [#q, #k, #v, #o] {"nan_is_zero" if a.nan_is_zero else ""} {{
  ^bb0(%s: {score}, %h: index, %g: index, %i: index, %j: index):
    %last = arith.addi %j, %left : index
    %first = arith.addi %i, %right : index
    %near = arith.cmpi sle, %i, %last : index
    %past = arith.cmpi sle, %j, %first : index
    %within = arith.andi %near, %past : i1
    %sink = arith.cmpi slt, %j, %sinks : index
    %before = arith.andi %sink, %past : i1
    %seen = arith.ori %within, %before : i1
    %x = arith.select %seen, %s, %inf : {score}
    dist.attention_yield %x : {score}
  }} -> {tensor}
  return %0 : {tensor}
}}""")
