#!/usr/bin/env python3
"""Prints a transformer with sliding windows as linalg, the program of one device: layers of q, k, v, o and a residual.

Query i sees the keys from i - left to i + right; the others get -inf, with --least the least number of f32, or another
with --masked. With --capped, scores are limited by a tanh before they are masked. Weights are inputs, so that dist-run
--random draws them; scales make up for their size, so that rounding does not grow from layer to layer.
"""

import argparse

MAPS = """
#x = affine_map<(b, s, n, k) -> (b, s, k)>
#w = affine_map<(b, s, n, k) -> (n, k)>
#y = affine_map<(b, s, n, k) -> (b, s, n)>
#q = affine_map<(b, h, g, i, j, d) -> (b, i, h, g, d)>
#k = affine_map<(b, h, g, i, j, d) -> (b, j, h, d)>
#s = affine_map<(b, h, g, i, j, d) -> (b, h, g, i, j)>
#p = affine_map<(b, h, g, i, e, j) -> (b, h, g, i, j)>
#v = affine_map<(b, h, g, i, e, j) -> (b, j, h, e)>
#o = affine_map<(b, h, g, i, e, j) -> (b, i, h, g, e)>
#scores = affine_map<(b, h, g, i, j) -> (b, h, g, i, j)>
#bias = affine_map<(b, h, g, i, j) -> (h, g, i, j)>
#column = affine_map<(b, h, g, i, j) -> (h, j)>
#slope = affine_map<(b, h, g, i, j) -> (h)>
#row = affine_map<(b, h, g, i, j) -> (b, h, g, i)>
#sink = affine_map<(b, h, g, i, j) -> (h, g)>
#rows = affine_map<(b, s, n) -> (b, s, n)>
"""


def tensor(*sizes):
    return "tensor<" + "x".join(map(str, sizes)) + "xf32>"


def parallel(count):
    return "[" + ", ".join(['"parallel"'] * count) + "]"


# What scores are changed by: the dimensions of them that it has, and how it is applied to %r.
LEARNED = {
    "bias": ("hgij", "    %r_bias = arith.addf {before}, %l_bias : f32"),
    "slopes": (
        "hg",
        """    %between = arith.subi %j, %i : index
    %steps = arith.index_cast %between : index to i32
    %distance = arith.sitofp %steps : i32 to f32
    %less = arith.mulf %distance, %l_slopes : f32
    %r_slopes = arith.addf {before}, %less : f32""",
    ),
    "factors": ("i", "    %r_factors = arith.mulf {before}, %l_factors : f32"),
    "keys": ("hj", "    %r_keys = arith.addf {before}, %l_keys : f32"),
}


def learned_type(kind, a):
    sizes = dict(h=a.kv_heads, g=a.heads // a.kv_heads, i=a.sequence, j=a.sequence)
    return tensor(*(sizes[dim] for dim in LEARNED[kind][0]))


def linear(name, scope, source, batch, rows, outputs, inputs):
    whole = tensor(batch, rows, outputs)
    return f"""
  %e_{name} = tensor.empty() : {whole}
  %f_{name} = linalg.fill ins(%zero : f32) outs(%e_{name} : {whole}) -> {whole}
  %y_{name} = linalg.contract indexing_maps = [#x, #w, #y] {{dist.scope = "{scope}"}}
      ins({source}, %w_{name} : {tensor(batch, rows, inputs)}, {tensor(outputs, inputs)})
      outs(%f_{name} : {whole}) -> {whole}"""


CAPPED = """    %part = arith.divf %t, %cap : f32
    %limited = math.tanh %part : f32
    %capped = arith.mulf %limited, %cap : f32
"""

ADDED = """
    %ri = arith.index_cast %i : index to i64
    %rj = arith.index_cast %j : index to i64
    %far = arith.subi %ri, %rj : i64
    %far_f = arith.sitofp %far : i64 to f32
    %leaning = arith.mulf %far_f, %as : f32
    %with_bias = arith.addf %t, %ab : f32
    %with_column = arith.addf %with_bias, %ac : f32
    %added = arith.addf %with_column, %leaning : f32
    %z = arith.select %seen, %added, %masked : f32"""


def biases(a, number):
    """What is added to scores: name, map and type."""
    groups = a.heads // a.kv_heads
    yield f"%bias{number}", "#bias", tensor(a.kv_heads, groups, a.sequence, a.sequence)
    yield f"%column{number}", "#column", tensor(a.kv_heads, a.sequence)
    yield f"%slope{number}", "#slope", tensor(a.kv_heads)


def drops(n, scores, scope, a):
    """Weights after the softmax, one in five of which is zero."""
    if not a.dropped:
        return ""
    sizes = f"{a.batch}, {a.kv_heads}, {a.heads // a.kv_heads}, {a.sequence}, {a.sequence}"
    return f"""
  %d_{n} = linalg.generic {{indexing_maps = [#scores, #scores], iterator_types = {parallel(5)}}}
      ins(%p_{n} : {scores}) outs(%es_{n} : {scores}) attrs = {{dist.scope = "{scope}"}} {{
  ^bb0(%a: f32, %out: f32):
    %b = linalg.index 0 : index
    %h = linalg.index 1 : index
    %g = linalg.index 2 : index
    %i = linalg.index 3 : index
    %j = linalg.index 4 : index
    %word:4 = dist.random_words %seed, %step operator {n} at(%b, %h, %g, %i, %j) of [{sizes}]
    %stays = arith.cmpi sge, %word#0, %fifth : i64
    %larger = arith.mulf %a, %more : f32
    %kept = arith.select %stays, %larger, %zero : f32
    linalg.yield %kept : f32
  }} -> {scores}"""


def softmax(n, shape, scope, a):
    """The weights; with a sink, a column of each head is behind the scores, and dropped after the softmax."""
    scores, joined, column = tensor(*shape), tensor(*shape[:-1], shape[-1] + 1), tensor(*shape[:-1], 1)
    if a.folded:
        return folded(n, shape, scope, a)
    if not a.sink:
        return f"""
  %p_{n} = linalg.softmax {{dist.scope = "{scope}"}} dimension(4)
      ins(%x_{n} : {scores}) outs(%es_{n} : {scores}) -> {scores}"""
    sizes, rows = ", ".join(map(str, shape)), tensor(*shape[:-1])
    shift = f"""
  %em_{n} = tensor.empty() : {rows}
  %fm_{n} = linalg.fill ins(%infinity : f32) outs(%em_{n} : {rows}) -> {rows}
  %max_{n} = linalg.generic {{indexing_maps = [#scores, #row],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}}
      ins(%c_{n}_joined : {joined}) outs(%fm_{n} : {rows}) attrs = {{dist.scope = "{scope}"}} {{
  ^bb0(%a: f32, %out: f32):
    %r = arith.maximumf %a, %out : f32
    linalg.yield %r : f32
  }} -> {rows}
  %j_{n} = linalg.generic {{indexing_maps = [#scores, #row, #scores], iterator_types = {parallel(5)}}}
      ins(%c_{n}_joined, %max_{n} : {joined}, {rows}) outs(%ej_{n} : {joined}) attrs = {{dist.scope = "{scope}"}} {{
  ^bb0(%a: f32, %b: f32, %out: f32):
    %r = arith.subf %a, %b : f32
    linalg.yield %r : f32
  }} -> {joined}"""
    whole = f"%c_{n}_joined" if a.shifted else f"%j_{n}"
    return f"""
  %ec_{n} = tensor.empty() : {column}
  %col_{n} = linalg.generic {{indexing_maps = [#sink, #scores], iterator_types = {parallel(5)}}}
      ins(%sink{n} : {tensor(*shape[1:3])}) outs(%ec_{n} : {column}) attrs = {{dist.scope = "{scope}"}} {{
  ^bb0(%a: f32, %out: f32):
    linalg.yield %a : f32
  }} -> {column}
  {whole} = tensor.concat dim(4) %x_{n}, %col_{n} {{dist.scope = "{scope}"}} : ({scores}, {column}) -> {joined}
  %ej_{n} = tensor.empty() : {joined}{shift if a.shifted else ""}
  %pj_{n} = linalg.softmax {{dist.scope = "{scope}"}} dimension(4)
      ins(%j_{n} : {joined}) outs(%ej_{n} : {joined}) -> {joined}
  %p_{n} = tensor.extract_slice %pj_{n}[0, 0, 0, 0, 0] [{sizes}] [1, 1, 1, 1, 1] {{dist.scope = "{scope}"}}
      : {joined} to {scores}"""


def folded(n, shape, scope, a):
    """A sink without a column: its part of the denominators, or of what they are divided by, of rows."""
    scores, rows = tensor(*shape), tensor(*shape[:-1])
    all_rows, attrs = parallel(4), f'attrs = {{dist.scope = "{scope}"}}'
    reduced = '["parallel", "parallel", "parallel", "parallel", "reduction"]'
    four = "affine_map<(b, h, g, i) -> (b, h, g, i)>"

    def of_rows(name, terms, body):
        maps = ", ".join([four if t != f"%sink{n}" else "affine_map<(b, h, g, i) -> (h, g)>" for t in terms] + [four])
        types = ", ".join(rows if t != f"%sink{n}" else tensor(*shape[1:3]) for t in terms)
        args = "".join(f"%a{k}: f32, " for k in range(len(terms)))
        return f"""
  {name} = linalg.generic {{indexing_maps = [{maps}], iterator_types = {all_rows}}}
      ins({", ".join(terms)} : {types}) outs(%em_{n} : {rows}) {attrs} {{
  ^bb0({args}%out: f32):
{body}
    linalg.yield %r : f32
  }} -> {rows}"""

    def of_scores(name, terms, body):
        maps = ", ".join(["#scores"] + ["#row"] * (len(terms) - 1) + ["#scores"])
        types = ", ".join([scores] + [rows] * (len(terms) - 1))
        args = "".join(f"%a{k}: f32, " for k in range(len(terms)))
        return f"""
  {name} = linalg.generic {{indexing_maps = [{maps}], iterator_types = {parallel(5)}}}
      ins({", ".join(terms)} : {types}) outs(%es_{n} : {scores}) {attrs} {{
  ^bb0({args}%out: f32):
{body}
    linalg.yield %r : f32
  }} -> {scores}"""

    def reduce(name, term, init, op):
        return f"""
  {name} = linalg.generic {{indexing_maps = [#scores, #row], iterator_types = {reduced}}}
      ins({term} : {scores}) outs({init} : {rows}) {attrs} {{
  ^bb0(%a: f32, %out: f32):
    %r = {op} %a, %out : f32
    linalg.yield %r : f32
  }} -> {rows}"""

    shifts = a.folded != "unshifted"
    text = f"""
  %em_{n} = tensor.empty() : {rows}
  %fm_{n} = linalg.fill ins(%infinity : f32) outs(%em_{n} : {rows}) -> {rows}
  %fz_{n} = linalg.fill ins(%zero : f32) outs(%em_{n} : {rows}) -> {rows}"""
    if shifts:
        text += reduce(f"%max_{n}", f"%x_{n}", f"%fm_{n}", "arith.maximumf")
        text += of_scores(f"%n_{n}", [f"%x_{n}", f"%max_{n}"], "    %d = arith.subf %a0, %a1 : f32\n    %r = math.exp %d : f32")
        text += of_rows(f"%own_{n}", [f"%sink{n}", f"%max_{n}"], "    %d = arith.subf %a0, %a1 : f32\n    %r = math.exp %d : f32")
    else:
        text += of_scores(f"%n_{n}", [f"%x_{n}"], "    %r = math.exp %a0 : f32")
        text += of_rows(f"%own_{n}", [f"%fz_{n}", f"%sink{n}"], "    %r = math.exp %a1 : f32")
    text += reduce(f"%l_{n}", f"%n_{n}", f"%fz_{n}", "arith.addf")
    text += of_rows(f"%d_{n}", [f"%l_{n}", f"%own_{n}"], "    %r = arith.addf %a0, %a1 : f32")
    if a.folded in ("rows", "unshifted"):
        return text + of_scores(f"%p_{n}", [f"%n_{n}", f"%d_{n}"], "    %r = arith.divf %a0, %a1 : f32")
    text += of_rows(f"%g_{n}", [f"%l_{n}", f"%d_{n}"], "    %r = arith.divf %a0, %a1 : f32")
    plain = of_scores(f"%q_p{n}", [f"%n_{n}", f"%l_{n}"], "    %r = arith.divf %a0, %a1 : f32")
    if a.folded == "weights":
        return text + plain + of_scores(f"%p_{n}", [f"%q_p{n}", f"%g_{n}"], "    %r = arith.mulf %a0, %a1 : f32")
    return text + plain.replace(f"%q_p{n}", f"%p_{n}")


def gated(n, queries, shape, scope):
    """Results times the part of their rows that is not the sink's."""
    own = "affine_map<(b, i, h, g, e) -> (b, i, h, g, e)>"
    return f"""
  %og_{n} = linalg.generic {{indexing_maps = [{own}, affine_map<(b, i, h, g, e) -> (b, h, g, i)>, {own}],
      iterator_types = {parallel(5)}}} ins(%o_{n}, %g_{n} : {queries}, {tensor(*shape)}) outs(%eo_{n} : {queries})
      attrs = {{dist.scope = "{scope}"}} {{
  ^bb0(%a: f32, %b: f32, %out: f32):
    %r = arith.mulf %a, %b : f32
    linalg.yield %r : f32
  }} -> {queries}"""


def layer(number, source, a):
    size, groups = a.features // a.heads, a.heads // a.kv_heads
    scope, n = f"layers.{number}.attention", number
    queries = tensor(a.batch, a.sequence, a.kv_heads, groups, size)
    keys = tensor(a.batch, a.sequence, a.kv_heads, size)
    scores = tensor(a.batch, a.kv_heads, groups, a.sequence, a.sequence)
    whole = tensor(a.batch, a.sequence, a.features)
    text = ""
    if a.halo:
        text = f"""
  %n_{n} = dist.sync {source} fwd_pre halo dim 1 low {a.left} high {a.right} over "sp" : {whole}"""
        source = f"%n_{n}"
    for name, outputs in (("q", a.features), ("k", a.kv_heads * size), ("v", a.kv_heads * size)):
        text += linear(f"{name}{n}", f"{scope}.{name}", source, a.batch, a.sequence, outputs, a.features)
    text += f"""
  %q_{n} = tensor.expand_shape %y_q{n} [[0], [1], [2, 3, 4]]
      output_shape [{a.batch}, {a.sequence}, {a.kv_heads}, {groups}, {size}] : {whole} into {queries}"""
    for name in "kv":
        text += f"""
  %{name}_{n} = tensor.expand_shape %y_{name}{n} [[0], [1], [2, 3]]
      output_shape [{a.batch}, {a.sequence}, {a.kv_heads}, {size}]
      : {tensor(a.batch, a.sequence, a.kv_heads * size)} into {keys}"""
    maps = "".join(f", affine_map<(b, h, g, i, j) -> ({', '.join(LEARNED[kind][0])})>" for kind in a.learned)
    types = "".join(f", {learned_type(kind, a)}" for kind in a.learned)
    shift, changed = "%capped" if a.capped else "%t", ""
    for kind in a.learned:
        changed += LEARNED[kind][1].format(before=shift) + "\n"
        shift = f"%r_{kind}"
    if a.selected:
        mask = f"    %r = arith.select %seen, {shift}, %masked : f32"
    else:
        mask = f"""    %m = arith.select %seen, %zero, %masked : f32
    %r = arith.addf {shift}, %m : f32"""
    added = list(biases(a, n)) if a.bias else []
    values = "".join(f", {name}" for name, _, _ in added)
    text += f"""
  %es_{n} = tensor.empty() : {scores}
  %fs_{n} = linalg.fill ins(%zero : f32) outs(%es_{n} : {scores}) -> {scores}
  %s_{n} = linalg.contract indexing_maps = [#q, #k, #s] {{dist.scope = "{scope}"}}
      ins(%q_{n}, %k_{n} : {queries}, {keys}) outs(%fs_{n} : {scores}) -> {scores}
  %x_{n} = linalg.generic {{indexing_maps = [#scores{maps}{"".join(", " + kind for _, kind, _ in added)}, #scores],
      iterator_types = {parallel(5)}}}
      ins({", ".join([f"%s_{n}", *("%" + kind for kind in a.learned)])}{values} : {", ".join([scores + types] + [type for _, _, type in added])})
      outs(%es_{n} : {scores}) attrs = {{dist.scope = "{scope}"}} {{
  ^bb0(%a: f32{"".join(f", %l_{kind}: f32" for kind in a.learned)}{", %ab: f32, %ac: f32, %as: f32" if added else ""}, %out: f32):
    %i = linalg.index 3 : index
    %j = linalg.index 4 : index
    %t = arith.mulf %a, %scale : f32
{CAPPED if a.capped else ""}{changed}    %to = arith.addi %j, %left : index
    %from = arith.addi %i, %right : index
    %near = arith.cmpi sle, %i, %to : index
    %past = arith.cmpi sle, %j, %from : index
    %seen = arith.andi %near, %past : i1
{mask}{ADDED if added else ""}
    linalg.yield {"%z" if added else "%r"} : f32
  }} -> {scores}
{softmax(n, (a.batch, a.kv_heads, groups, a.sequence, a.sequence), scope, a)}
{drops(n, scores, scope, a)}
  %eo_{n} = tensor.empty() : {queries}
  %fo_{n} = linalg.fill ins(%zero : f32) outs(%eo_{n} : {queries}) -> {queries}
  %o_{n} = linalg.contract indexing_maps = [#p, #v, #o] {{dist.scope = "{scope}"}}
      ins(%{"d" if a.dropped else "p"}_{n}, {"%k" if a.tied else "%v"}_{n} : {scores}, {keys}) outs(%fo_{n} : {queries}) -> {queries}
{gated(n, queries, (a.batch, a.kv_heads, groups, a.sequence), scope) if a.folded == "results" else ""}
  %c_{n} = tensor.collapse_shape %{"og" if a.folded == "results" else "o"}_{n} [[0], [1], [2, 3, 4]] : {queries} into {whole}"""
    text += linear(f"o{n}", f"{scope}.o", f"%c_{n}", a.batch, a.sequence, a.features, a.features)
    return text + f"""
  %r_{n} = linalg.generic {{indexing_maps = [#rows, #rows, #rows], iterator_types = {parallel(3)}}}
      ins({source}, %y_o{n} : {whole}, {whole}) outs(%e_o{n} : {whole}) {{
  ^bb0(%a: f32, %c: f32, %out: f32):
    %d = arith.mulf %c, %damped : f32
    %t = math.tanh %d : f32
    %r = arith.addf %a, %t : f32
    linalg.yield %r : f32
  }} -> {whole}"""


def main():
    parser = argparse.ArgumentParser()
    for name, value in dict(layers=1, batch=1, sequence=32, features=16, heads=4, kv_heads=4, left=3, right=0).items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--least", action="store_true")
    parser.add_argument("--masked", help="the number for keys outside of the window")
    parser.add_argument("--capped", action="store_true", help="no score is larger than 5 in magnitude")
    parser.add_argument("--tied", action="store_true", help="values are the keys")
    parser.add_argument("--halo", action="store_true", help="a layer's input is exchanged where the layer begins")
    parser.add_argument("--selected", action="store_true", help="masked scores are replaced, not added to")
    parser.add_argument("--learned", nargs="*", default=[], choices=LEARNED, help="inputs that all layers share")
    parser.add_argument("--dropped", action="store_true", help="a fifth of the weights, by what is drawn for their places")
    parser.add_argument("--sink", action="store_true", help="a learned number of each head is behind the scores")
    parser.add_argument("--shifted", action="store_true", help="with --sink, rows less their largest element")
    parser.add_argument("--folded", choices=["rows", "unshifted", "weights", "results"], help="a sink without a column")
    parser.add_argument("--bias", action="store_true", help="what is added to scores, keys and heads is learned")
    a = parser.parse_args()
    size = a.features // a.heads
    whole = tensor(a.batch, a.sequence, a.features)
    placed = ', dist.sharding = #dist.sharding<@m, [{}, {"sp"}, {}]>' if a.halo else ""
    arguments = [f'%x: {whole} {{dist.input = "x"{placed}}}']
    arguments += [f'%{kind}: {learned_type(kind, a)} {{dist.input = "{kind}"}}' for kind in a.learned]
    for number in range(a.layers):
        for name in "qkvo":
            outputs = a.kv_heads * size if name in "kv" else a.features
            arguments.append(f'%w_{name}{number}: {tensor(outputs, a.features)} {{dist.input = "w_{name}{number}"}}')
        if a.sink or a.folded:
            kind = tensor(a.kv_heads, a.heads // a.kv_heads)
            arguments.append(f'%sink{number}: {kind} {{dist.input = "sink{number}"}}')
        for name, _, kind in biases(a, number) if a.bias else []:
            arguments.append(f'{name}: {kind} {{dist.input = "{name[1:]}"}}')
    print(MAPS)
    if a.halo:
        print('dist.mesh @m ["sp" = 4]')
    print("func.func @main(" + ",\n    ".join(arguments) + f') -> ({whole} {{dist.output = "y"}}) {{')
    print(f"""  %zero = arith.constant 0.0 : f32
  %masked = arith.constant {a.masked or ("-3.40282347E+38" if a.least else "0xFF800000")} : f32
  %infinity = arith.constant 0xFF800000 : f32
  %cap = arith.constant 5.0 : f32
  %scale = arith.constant {size ** -0.5 / a.features:.9f} : f32
  %damped = arith.constant {1 / a.features:.9f} : f32
  %seed = arith.constant 7 : i64
  %step = arith.constant 0 : i64
  %fifth = arith.constant 858993459 : i64
  %more = arith.constant 1.25 : f32
  %left = arith.constant {a.left} : index
  %right = arith.constant {a.right} : index""")
    source = "%x"
    for number in range(a.layers):
        print(layer(number, source, a))
        source = f"%r_{number}"
    print(f"  return {source} : {whole}\n}}")


if __name__ == "__main__":
    main()
