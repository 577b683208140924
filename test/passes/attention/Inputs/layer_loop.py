#!/usr/bin/env python3
"""Prints layers of attention and a residual as linalg, in a loop over layers whose weights are stacked, or one after the other.

Weights are inputs, so that dist-run --random draws them. A schedule finds a layer's ops under layers.attention.
"""

import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--layers", type=int, default=3)
parser.add_argument("--batch", type=int, default=2)
parser.add_argument("--heads", type=int, default=2)
parser.add_argument("--sequence", type=int, default=24)
parser.add_argument("--features", type=int, default=8)
parser.add_argument("--unrolled", action="store_true", help="one layer after the other")
parser.add_argument("--first", type=int, default=0, help="what the loop counts from")
parser.add_argument("--step", type=int, default=1, help="what the loop counts by")
parser.add_argument("--left", type=int, help="keys that a query sees before its own; without it all of them")
parser.add_argument("--causal", action="store_true", help="no keys behind the query's own")
parser.add_argument("--bias", action="store_true", help="a bias of each head, query and key, of all layers")
parser.add_argument("--slopes", action="store_true", help="of each layer and head, times the distance")
parser.add_argument("--cap", action="store_true", help="a soft cap of scores")
parser.add_argument("--dropped", action="store_true", help="weights are dropped by layer, place and a seed")
parser.add_argument("--groups", type=int, default=1, help="loops over so many of such loops, whose weights are stacked, too")
a = parser.parse_args()
L, B, H, S, F = a.layers, a.batch, a.heads, a.sequence, a.features
D = F // H
G = a.groups


def tensor(*sizes, element="f32"):
    return "tensor<" + "".join(f"{size}x" for size in sizes) + element + ">"


X, Q, P = tensor(B, S, F), tensor(B, S, H, D), tensor(B, H, S, S)
STACK = (G, L) if G > 1 else (L,)
NAMES = ["q", "k", "v", "o"]
PARALLEL = ", ".join(['"parallel"'] * 4)


def linear(name, source, weight, scope):
    return f"""
    %f_{name} = linalg.fill ins(%zero : f32) outs(%e_x : {X}) -> {X}
    %y_{name} = linalg.contract indexing_maps = [#x, #w, #y] {{dist.scope = "{scope}.{name}"}}
        ins({source}, {weight} : {X}, {tensor(F, F)}) outs(%f_{name} : {X}) -> {X}"""


def take(what, place, sizes):
    """A slice of what is stacked."""
    offsets = ", ".join(place + ["0"] * len(sizes))
    extent = ", ".join(["1"] * len(place) + [str(size) for size in sizes])
    ones = ", ".join(["1"] * (len(place) + len(sizes)))
    return (
        f"tensor.extract_slice %{what}[{offsets}] [{extent}] [{ones}]"
        f" : {tensor(*STACK, *sizes)} to {tensor(*sizes)}"
    )


def layer(source, place, number, scope):
    """The text of a layer, whose result is %next; `number` is an i64 that tells layers apart."""
    text = ""
    for name in NAMES:
        text += f"\n    %w{name} = {take('w_' + name, place, [F, F])}"
    for name in "qkv":
        text += linear(name, source, f"%w{name}", scope)
        text += f"""
    %{name} = tensor.expand_shape %y_{name} [[0], [1], [2, 3]] output_shape [{B}, {S}, {H}, {D}] : {X} into {Q}"""
    inputs, maps, types, arguments = ["%s"], ["#s"], [P], ["%a: f32"]
    body, score = "      %scaled = arith.mulf %a, %scale : f32\n", "%scaled"
    if a.cap:
        body += "      %bent = math.tanh %scaled : f32\n      %capped = arith.mulf %bent, %two : f32\n"
        score = "%capped"
    if a.bias:
        inputs.append("%bias"), maps.append("#bias"), types.append(tensor(H, S, S)), arguments.append("%ab: f32")
        body += f"      %biased = arith.addf {score}, %ab : f32\n"
        score = "%biased"
    if a.slopes:
        text += f"\n    %slope = {take('slopes', place, [H])}"
        inputs.append("%slope"), maps.append("#slope"), types.append(tensor(H)), arguments.append("%al: f32")
        body += f"""      %between = arith.subi %j, %i : index
      %steps = arith.index_cast %between : index to i32
      %distance = arith.sitofp %steps : i32 to f32
      %less = arith.mulf %distance, %al : f32
      %leaning = arith.addf {score}, %less : f32
"""
        score = "%leaning"
    if a.causal or a.left is not None:
        body += "      %seen = arith.cmpi sle, %j, %i : index\n" if a.causal else "      %seen = arith.constant true\n"
        if a.left is not None:
            body += f"""      %left = arith.constant {a.left} : index
      %to = arith.addi %j, %left : index
      %near = arith.cmpi sle, %i, %to : index
      %both = arith.andi %seen, %near : i1
"""
        body += f"      %masked = arith.select {'%both' if a.left is not None else '%seen'}, {score}, %inf : f32\n"
        score = "%masked"
    text += f"""
    %fs = linalg.fill ins(%zero : f32) outs(%e_s : {P}) -> {P}
    %s = linalg.contract indexing_maps = [#q, #k, #s_of] {{dist.scope = "{scope}"}}
        ins(%q, %k : {Q}, {Q}) outs(%fs : {P}) -> {P}
    %z = linalg.generic {{indexing_maps = [{", ".join(maps)}, #s], iterator_types = [{PARALLEL}]}}
        ins({", ".join(inputs)} : {", ".join(types)}) outs(%e_s : {P}) attrs = {{dist.scope = "{scope}"}} {{
    ^bb0({", ".join(arguments)}, %out: f32):
      %i = linalg.index 2 : index
      %j = linalg.index 3 : index
{body}      linalg.yield {score} : f32
    }} -> {P}
    %p = linalg.softmax {{dist.scope = "{scope}"}} dimension(3) ins(%z : {P}) outs(%e_s : {P}) -> {P}"""
    weights = "%p"
    if a.dropped:
        weights = "%dropped"
        text += f"""
    %layer = {number}
    %dropped = linalg.generic {{indexing_maps = [#s, #s], iterator_types = [{PARALLEL}]}}
        ins(%p : {P}) outs(%e_s : {P}) attrs = {{dist.scope = "{scope}"}} {{
    ^bb0(%a: f32, %out: f32):
      %key = tensor.extract %seed[] : {tensor(element="i64")}
      %b = linalg.index 0 : index
      %head = linalg.index 1 : index
      %i = linalg.index 2 : index
      %j = linalg.index 3 : index
      %heads = arith.constant {H} : index
      %rows = arith.constant {S} : index
      %1 = arith.muli %b, %heads : index
      %2 = arith.addi %1, %head : index
      %3 = arith.muli %2, %rows : index
      %4 = arith.addi %3, %i : index
      %5 = arith.muli %4, %rows : index
      %6 = arith.addi %5, %j : index
      %7 = arith.index_cast %6 : index to i64
      %8 = arith.addi %7, %key : i64
      %9 = arith.muli %8, %odd : i64
      %10 = arith.xori %9, %layer : i64
      %11 = arith.muli %10, %odd : i64
      %12 = arith.shrui %11, %sixteen : i64
      %13 = arith.andi %12, %word : i64
      %kept = arith.cmpi sge, %13, %ratio : i64
      %14 = arith.mulf %a, %more : f32
      %15 = arith.select %kept, %14, %zero : f32
      linalg.yield %15 : f32
    }} -> {P}"""
    text += f"""
    %fo = linalg.fill ins(%zero : f32) outs(%e_q : {Q}) -> {Q}
    %o = linalg.contract indexing_maps = [#p, #v, #o] {{dist.scope = "{scope}"}}
        ins({weights}, %v : {P}, {Q}) outs(%fo : {Q}) -> {Q}
    %c = tensor.collapse_shape %o [[0], [1], [2, 3]] : {Q} into {X}"""
    text += linear("o", "%c", "%wo", scope)
    text += f"""
    %next = linalg.add ins({source}, %y_o : {X}, {X}) outs(%e_x : {X}) -> {X}"""
    return text


def rename(text, names, suffix):
    """SSA names of a layer, told apart."""
    import re

    return re.sub(r"%([a-z_]\w*|\d+)", lambda m: m.group() if m.group(1) in names else m.group() + suffix, text)


GLOBAL = {"e_x", "e_q", "e_s", "zero", "inf", "scale", "two", "more", "odd", "word", "ratio", "sixteen", "seed", "bias", "slopes", "x"}
GLOBAL |= {"w_" + name for name in NAMES}
arguments = [f'%x: {X} {{dist.input = "x"}}']
for name in NAMES:
    arguments.append(f'%w_{name}: {tensor(*STACK, F, F)} {{dist.input = "w_{name}"}}')
if a.bias:
    arguments.append(f'%bias: {tensor(H, S, S)} {{dist.input = "bias"}}')
if a.slopes:
    arguments.append(f'%slopes: {tensor(*STACK, H)} {{dist.input = "slopes"}}')
if a.dropped:
    arguments.append(f'%seed: {tensor(element="i64")} {{dist.input = "seed"}}')

print(f"""#x = affine_map<(b, s, n, k) -> (b, s, k)>
#w = affine_map<(b, s, n, k) -> (n, k)>
#y = affine_map<(b, s, n, k) -> (b, s, n)>
#q = affine_map<(b, h, i, j, d) -> (b, i, h, d)>
#k = affine_map<(b, h, i, j, d) -> (b, j, h, d)>
#s_of = affine_map<(b, h, i, j, d) -> (b, h, i, j)>
#s = affine_map<(b, h, i, j) -> (b, h, i, j)>
#bias = affine_map<(b, h, i, j) -> (h, i, j)>
#slope = affine_map<(b, h, i, j) -> (h)>
#p = affine_map<(b, h, i, e, j) -> (b, h, i, j)>
#v = affine_map<(b, h, i, e, j) -> (b, j, h, e)>
#o = affine_map<(b, h, i, e, j) -> (b, i, h, e)>
func.func @main({", ".join(arguments)}) -> ({X} {{dist.output = "y"}}) {{
  %zero = arith.constant 0.0 : f32
  %inf = arith.constant 0xFF800000 : f32
  %scale = arith.constant 0.5 : f32
  %two = arith.constant 2.0 : f32
  %more = arith.constant 1.25 : f32
  %odd = arith.constant 2654435761 : i64
  %word = arith.constant 65535 : i64
  %ratio = arith.constant 13107 : i64
  %sixteen = arith.constant 16 : i64
  %e_x = tensor.empty() : {X}
  %e_q = tensor.empty() : {Q}
  %e_s = tensor.empty() : {P}""")
if a.unrolled:
    source = "%x"
    for number in range(G * L):
        place = [str(number // L), str(number % L)] if G > 1 else [str(number)]
        text = layer("%source", place, f"arith.constant {number} : i64", f"layers.{number}.attention")
        names = GLOBAL | {"source"}
        print(rename(text, names, f"_{number}").replace("%source", source))
        source = f"%next_{number}"
    print(f"  return {source} : {X}")
else:
    print(f"""  %first = arith.constant {a.first} : index
  %end = arith.constant {a.first + a.step * L} : index
  %by = arith.constant {a.step} : index
  %none = arith.constant 0 : index
  %one = arith.constant 1 : index
  %groups = arith.constant {G} : index
  %per = arith.constant {L} : index""")
    at = "%at"
    place = f"""
    %gone = arith.subi %n, %first : index
    %at = arith.divui %gone, %by : index"""
    if a.first == 0 and a.step == 1:
        place, at = "", "%n"
    count = at
    if G > 1:
        place += f"\n    %groups_gone = arith.muli %g, %per : index\n    %all = arith.addi %groups_gone, {at} : index"
        count = "%all"
    body = layer("%h", ["%g", at] if G > 1 else [at], f"arith.index_cast {count} : index to i64", "layers.attention")
    inner = "%h0" if G > 1 else "%x"
    loop = f"""  %done = scf.for %n = %first to %end step %by iter_args(%h = {inner}) -> {X} {{{place}{body}
    scf.yield %next : {X}
  }}"""
    if G > 1:
        print(f"  %out_all = scf.for %g = %none to %groups step %one iter_args(%h0 = %x) -> {X} {{")
        print(loop)
        print(f"    scf.yield %done : {X}\n  }}\n  return %out_all : {X}")
    else:
        print(loop)
        print(f"  return %done : {X}")
print("}")
