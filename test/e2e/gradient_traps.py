#!/usr/bin/python3
"""Gradients where frameworks have been wrong, against closed forms that this file computes, on one rank and on several.

    gradient_traps.py [REGEX]     only cases whose name matches

- `max_pool_WINDOW_RANKS`: rows of an image are sharded, windows reach into those of neighbours and have several
  largest elements, of which the first gets all, also where another device has it;
- `masked_row_KIND_RANKS`: attention in which a mask leaves nothing of some rows, by -inf, NaN being 0, or by the least
  number: queries and keys have gradients that are finite, and those of PyTorch's formulas;
- `uneven_RANKS`: two layers whose rows, and features, the ranks do not divide, one of which may have none: what is padding
  adds to no sum;
- `transposed_RANKS`: gradients that are views of what is computed (transposed, every other row) are added up over devices
  in the order of the parameter.

Numbers are small integers where that is enough: sums are exact then, whatever their order.
"""

import array
import functools
import json
import math
import os
import struct
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
sys.path.insert(0, HERE)
import npy  # noqa: E402
import xunit  # noqa: E402
from philox import run  # noqa: E402


def tensor(*shape, kind="f64"):
    return f"tensor<{'x'.join([*map(str, shape), kind])}>"


def placed(kind, name, dims, ranks):
    """Attributes of an argument."""
    sharding = f", dist.sharding = #dist.sharding<@m, [{', '.join(dims)}]>" if ranks > 1 and dims else ""
    return f'{{dist.{kind} = "{name}"{sharding}}}'


def multiply(a, b):
    return [[math.fsum(x * y for x, y in zip(row, column)) for column in zip(*b)] for row in a]


def transpose(a):
    return [list(column) for column in zip(*a)]


def flatten(values):
    return [number for row in values for number in flatten(row)] if isinstance(values, list) else [values]


def numbers(rows, columns, seed):
    return [[math.sin(1.7 * i + 0.9 * j + seed) for j in range(columns)] for i in range(rows)]


def integers(rows, columns, seed):
    return [[float((3 * i + 5 * j + i * j + seed) % 7 - 3) for j in range(columns)] for i in range(rows)]


def write_safetensors(path, parameters):
    header, data = {}, b""
    for name, (shape, values) in parameters.items():
        start = len(data)
        data += array.array("d", values).tobytes()
        header[name] = {"dtype": "F64", "shape": list(shape), "data_offsets": [start, len(data)]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


class Program:
    """A module that is differentiated along `dy`, run, and compared."""

    def __init__(self, text, inputs, parameters=None):
        self.text, self.inputs, self.parameters = text, inputs, parameters or {}

    def check(self, expected, tolerance=0.0):
        with tempfile.TemporaryDirectory() as work:
            path = os.path.join(work, "program.mlir")
            with open(path, "w") as file:
                file.write(self.text)
            weights = os.path.join(work, "weights.safetensors")
            write_safetensors(weights, self.parameters)
            made = os.path.join(work, "gradients.mlir")
            run("dist-opt", path, "--dist-differentiate=cotangent=dy wrt=**", "-o", made)
            given = []
            for name, (shape, values) in self.inputs.items():
                file = os.path.join(work, name + ".npy")
                if isinstance(values[0], bool):
                    npy.write(file, "i1", shape, values)
                else:
                    npy.write(file, "f64", shape, values)
                given.append(f"--input={name}={file}")
            out = os.path.join(work, "out")
            run("dist-run", made, *given, f"--weights={weights}", f"--output={out}")
            for name, wanted in expected.items():
                got = npy.read(os.path.join(out, name + ".npy"))[2]
                wanted = flatten(wanted)
                assert len(got) == len(wanted), f"{name} has {len(got)} elements, not {len(wanted)}"
                for place, (a, b) in enumerate(zip(got, wanted)):
                    # Written so that NaN is no match.
                    assert abs(a - b) <= tolerance, f"{name}[{place}] is {a}, expected {b}"


MESH = 'dist.mesh @m ["x" = {}]\n'


def mesh(ranks):
    return MESH.format(ranks) if ranks > 1 else ""


# Rows of the image, rows and columns of a window, its stride, rows of padding above and below.
WINDOWS = {
    "3_1_same": (13, 3, 3, 1, 1, 1),
    "7_1_same": (16, 7, 3, 1, 3, 3),
    "3_2_same": (16, 3, 3, 2, 1, 1),
    "2_2_valid": (16, 2, 2, 2, 0, 0),
    "3_1_causal": (12, 3, 3, 1, 2, 0),
    "3_1_anti": (12, 3, 2, 1, 0, 2),
}
COLUMNS = 6


def check_max_pool(window, ranks):
    height, size, width, stride, low, high = window
    values = [[float((i * i + 2 * j + i * j // 3) % 3) for j in range(COLUMNS)] for i in range(height)]
    rows, columns = (height + low + high - size) // stride + 1, (COLUMNS - width) // stride + 1
    cotangent = [[float(1 + i * columns + j) for j in range(columns)] for i in range(rows)]
    expected = [[0.0] * COLUMNS for _ in range(height)]
    ties = 0
    for i in range(rows):
        for j in range(columns):
            places = [
                (a, b)
                for a in range(i * stride - low, i * stride - low + size)
                for b in range(j * stride, j * stride + width)
                if 0 <= a < height
            ]
            largest = max(values[a][b] for a, b in places)
            winners = [(a, b) for a, b in places if values[a][b] == largest]
            ties += len(winners) > 1
            a, b = winners[0]
            expected[a][b] += cotangent[i][j]
    assert ties > 5
    whole, padded, out = (1, 1, height, COLUMNS), (1, 1, height + low + high, COLUMNS), (1, 1, rows, columns)
    text = f"""{mesh(ranks)}
func.func @main(%x: {tensor(*whole)} {placed("input", "x", ["{}", "{}", '{"x"}', "{}"], ranks)})
    -> ({tensor(*out)} {{dist.output = "y"}}) {{
  %low = arith.constant 0xFFF0000000000000 : f64
  %p = tensor.pad %x low[0, 0, {low}, 0] high[0, 0, {high}, 0] {{
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %low : f64
  }} : {tensor(*whole)} to {tensor(*padded)}
  %e = tensor.empty() : {tensor(*out)}
  %f = linalg.fill ins(%low : f64) outs(%e : {tensor(*out)}) -> {tensor(*out)}
  %w = tensor.empty() : {tensor(size, width)}
  %y = linalg.pooling_nchw_max {{dilations = dense<1> : tensor<2xi64>, strides = dense<{stride}> : tensor<2xi64>}}
      ins(%p, %w : {tensor(*padded)}, {tensor(size, width)}) outs(%f : {tensor(*out)}) -> {tensor(*out)}
  return %y : {tensor(*out)}
}}
"""
    inputs = {"x": (whole, flatten(values)), "dy": (out, flatten(cotangent))}
    Program(text, inputs).check({"x.grad": expected})


SEQUENCE, FEATURES = 7, 3
# Of these queries the mask leaves no key.
UNSEEN = (2, 5)


def attention_text(instead, guards, cut, ranks):
    """Softmax in its parts, as exports write it."""
    n, d = SEQUENCE, FEATURES
    square, rows, wide = tensor(n, n), tensor(n), tensor(n, d)
    place = {
        "queries": (['{"x"}', "{}"], ["{}", "{}"], ['{"x"}', "{}"]),
        "keys": (["{}", "{}"], ['{"x"}', "{}"], ["{}", '{"x"}']),
    }[cut]
    guard = f"""
  %n = linalg.generic {{indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}}
      ins(%p : {square}) outs(%ei : {tensor(n, n, kind="i1")}) {{
  ^bb0(%a: f64, %o: i1):
    %0 = arith.cmpf uno, %a, %a : f64
    linalg.yield %0 : i1
  }} -> {tensor(n, n, kind="i1")}
  %g = linalg.generic {{indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel"]}}
      ins(%n, %p : {tensor(n, n, kind="i1")}, {square}) outs(%e : {square}) {{
  ^bb0(%a: i1, %b: f64, %o: f64):
    %0 = arith.select %a, %zero, %b : f64
    linalg.yield %0 : f64
  }} -> {square}"""
    return f"""{mesh(ranks)}
#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @main(%q: {wide} {placed("input", "q", place[0], ranks)}, %k: {wide} {placed("input", "k", place[1], ranks)},
                %v: {wide} {placed("input", "v", place[1], ranks)},
                %mask: {tensor(n, n, kind="i1")} {placed("input", "mask", place[2], ranks)})
    -> ({wide} {{dist.output = "y"}}) {{
  %zero = arith.constant 0.0 : f64
  %instead = arith.constant {instead} : f64
  %least = arith.constant 0xFFF0000000000000 : f64
  %e = tensor.empty() : {square}
  %ei = tensor.empty() : {tensor(n, n, kind="i1")}
  %ev = tensor.empty() : {wide}
  %er = tensor.empty() : {rows}
  %f = linalg.fill ins(%zero : f64) outs(%e : {square}) -> {square}
  %fr = linalg.fill ins(%zero : f64) outs(%er : {rows}) -> {rows}
  %fl = linalg.fill ins(%least : f64) outs(%er : {rows}) -> {rows}
  %fv = linalg.fill ins(%zero : f64) outs(%ev : {wide}) -> {wide}
  %s = linalg.contract indexing_maps = [affine_map<(i, j, d) -> (i, d)>, affine_map<(i, j, d) -> (j, d)>, affine_map<(i, j, d) -> (i, j)>]
      ins(%q, %k : {wide}, {wide}) outs(%f : {square}) -> {square}
  %x = linalg.generic {{indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel"]}}
      ins(%s, %mask : {square}, {tensor(n, n, kind="i1")}) outs(%e : {square}) {{
  ^bb0(%a: f64, %b: i1, %o: f64):
    %0 = arith.select %b, %zero, %instead : f64
    %1 = arith.addf %a, %0 : f64
    linalg.yield %1 : f64
  }} -> {square}
  %m = linalg.generic {{indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}} ins(%x : {square}) outs(%fl : {rows}) {{
  ^bb0(%a: f64, %o: f64):
    %0 = arith.maximumf %a, %o : f64
    linalg.yield %0 : f64
  }} -> {rows}
  %t = linalg.generic {{indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]}}
      ins(%x, %m : {square}, {rows}) outs(%e : {square}) {{
  ^bb0(%a: f64, %b: f64, %o: f64):
    %0 = arith.subf %a, %b : f64
    %1 = math.exp %0 : f64
    linalg.yield %1 : f64
  }} -> {square}
  %l = linalg.generic {{indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}} ins(%t : {square}) outs(%fr : {rows}) {{
  ^bb0(%a: f64, %o: f64):
    %0 = arith.addf %a, %o : f64
    linalg.yield %0 : f64
  }} -> {rows}
  %p = linalg.generic {{indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]}}
      ins(%t, %l : {square}, {rows}) outs(%e : {square}) {{
  ^bb0(%a: f64, %b: f64, %o: f64):
    %0 = arith.divf %a, %b : f64
    linalg.yield %0 : f64
  }} -> {square}{guard if guards else ""}
  %y = linalg.contract indexing_maps = [affine_map<(i, d, j) -> (i, j)>, affine_map<(i, d, j) -> (j, d)>, affine_map<(i, d, j) -> (i, d)>]
      ins({"%g" if guards else "%p"}, %v : {square}, {wide}) outs(%fv : {wide}) -> {wide}
  return %y : {wide}
}}
"""


def check_masked_row(kind, cut, ranks):
    n = SEQUENCE
    q, k, v, dy = (numbers(n, FEATURES, seed) for seed in (0.1, 0.7, 1.3, 2.1))
    mask = [[i not in UNSEEN and (i + 2 * j) % 5 != 1 for j in range(n)] for i in range(n)]
    scores = multiply(q, transpose(k))
    weights = []
    for row, seen in zip(scores, mask):
        if any(seen):
            top = max(x for x, here in zip(row, seen) if here)
            powers = [math.exp(x - top) if here else 0.0 for x, here in zip(row, seen)]
            weights.append([power / math.fsum(powers) for power in powers])
        else:
            # All scores are lost beside the least number.
            weights.append([0.0 if kind == "infinite" else 1 / n] * n)
    back = multiply(dy, transpose(v))
    ofScores = [
        [p * (b - math.fsum(x * y for x, y in zip(row, ps))) for p, b in zip(ps, row)] for ps, row in zip(weights, back)
    ]
    expected = {
        "y": multiply(weights, v),
        "q.grad": multiply(ofScores, k),
        "k.grad": multiply(transpose(ofScores), q),
        "v.grad": multiply(transpose(weights), dy),
    }
    infinite = kind == "infinite"
    text = attention_text("0xFFF0000000000000" if infinite else "-1.7976931348623157e+308", infinite, cut, ranks)
    wide = (n, FEATURES)
    inputs = {name: (wide, flatten(value)) for name, value in zip(("q", "k", "v", "dy"), (q, k, v, dy))}
    inputs["mask"] = ((n, n), flatten(mask))
    Program(text, inputs).check(expected, 1e-12)


def check_uneven(cut, ranks):
    """y = tanh(x w1 + b1) w2 + b2."""
    batch, before, hidden, after = 7, 5, 9, 3
    x, w1, w2, dy = numbers(batch, before, 0.2), numbers(before, hidden, 0.4), numbers(hidden, after, 0.6), numbers(batch, after, 0.8)
    (b1,), (b2,) = numbers(1, hidden, 1.0), numbers(1, after, 1.2)
    h = [[math.tanh(a + b) for a, b in zip(row, b1)] for row in multiply(x, w1)]
    ofH = [[g * (1 - a * a) for g, a in zip(gs, row)] for gs, row in zip(multiply(dy, transpose(w2)), h)]
    expected = {
        "y": [[a + b for a, b in zip(row, b2)] for row in multiply(h, w2)],
        "w1.grad": multiply(transpose(x), ofH),
        "b1.grad": [math.fsum(column) for column in zip(*ofH)],
        "w2.grad": multiply(transpose(h), dy),
        "b2.grad": [math.fsum(column) for column in zip(*dy)],
        "x.grad": multiply(ofH, transpose(w1)),
    }
    rows, columns, vector = ['{"x"}', "{}"], ["{}", '{"x"}'], ['{"x"}']
    places = {
        "rows": {"x": rows},
        "features": {"w1": columns, "b1": vector, "w2": rows},
        "stored": {"x": rows, "w1": columns, "b1": vector, "w2": rows, "b2": vector},
    }[cut]

    def port(name, *shape):
        return f"%{name}: {tensor(*shape)} {placed('input' if name == 'x' else 'parameter', name, places.get(name), ranks)}"

    def layer(name, value, rows, size, out):
        whole = tensor(rows, out)
        body = "" if name == "2" else "    %t = math.tanh %s : f64\n"
        return f"""
  %e{name} = tensor.empty() : {whole}
  %f{name} = linalg.fill ins(%zero : f64) outs(%e{name} : {whole}) -> {whole}
  %m{name} = linalg.matmul ins({value}, %w{name} : {tensor(rows, size)}, {tensor(size, out)}) outs(%f{name} : {whole}) -> {whole}
  %y{name} = linalg.generic {{indexing_maps = [#all, affine_map<(i, j) -> (j)>, #all], iterator_types = ["parallel", "parallel"]}}
      ins(%m{name}, %b{name} : {whole}, {tensor(out)}) outs(%e{name} : {whole}) {{
  ^bb0(%a: f64, %b: f64, %o: f64):
    %s = arith.addf %a, %b : f64
{body}    linalg.yield {"%s" if name == "2" else "%t"} : f64
  }} -> {whole}"""

    ports = [port("x", batch, before), port("w1", before, hidden), port("b1", hidden), port("w2", hidden, after), port("b2", after)]
    text = f"""{mesh(ranks)}
#all = affine_map<(i, j) -> (i, j)>
func.func @main({", ".join(ports)}) -> ({tensor(batch, after)} {{dist.output = "y"}}) {{
  %zero = arith.constant 0.0 : f64
{layer("1", "%x", batch, before, hidden)}
{layer("2", "%y1", batch, hidden, after)}
  return %y2 : {tensor(batch, after)}
}}
"""
    values = {"x": (x, (batch, before)), "w1": (w1, (before, hidden)), "b1": (b1, (hidden,)), "w2": (w2, (hidden, after)),
              "b2": (b2, (after,)), "dy": (dy, (batch, after))}  # fmt: skip
    values = {name: (shape, flatten(value)) for name, (value, shape) in values.items()}
    inputs = {name: values.pop(name) for name in ("x", "dy")}
    Program(text, inputs, values).check(expected, 1e-12)


def check_transposed(ranks, stored):
    """y = x a^T + x (every other row of b)."""
    batch, size, out = 8, 4, 6
    x, a, b, dy = integers(batch, size, 1), integers(out, size, 2), integers(2 * size, out, 3), integers(batch, out, 4)
    ofWeight = multiply(transpose(x), dy)
    expected = {
        "y": [[p + q for p, q in zip(*rows)] for rows in zip(multiply(x, transpose(a)), multiply(x, b[::2]))],
        "a.grad": transpose(ofWeight),
        "b.grad": [ofWeight[i // 2] if i % 2 == 0 else [0.0] * out for i in range(2 * size)],
        "x.grad": [[p + q for p, q in zip(*rows)] for rows in zip(multiply(dy, a), multiply(dy, transpose(b[::2])))],
    }
    part = ['{"x"}', "{}"]
    text = f"""{mesh(ranks)}
func.func @main(%x: {tensor(batch, size)} {placed("input", "x", part, ranks)},
                %a: {tensor(out, size)} {placed("parameter", "a", part if stored else None, ranks)},
                %b: {tensor(2 * size, out)} {placed("parameter", "b", part if stored else None, ranks)})
    -> ({tensor(batch, out)} {{dist.output = "y"}}) {{
  %zero = arith.constant 0.0 : f64
  %e = tensor.empty() : {tensor(batch, out)}
  %f = linalg.fill ins(%zero : f64) outs(%e : {tensor(batch, out)}) -> {tensor(batch, out)}
  %ea = tensor.empty() : {tensor(size, out)}
  %t = linalg.transpose ins(%a : {tensor(out, size)}) outs(%ea : {tensor(size, out)}) permutation = [1, 0]
  %s = tensor.extract_slice %b[0, 0] [{size}, {out}] [2, 1] : {tensor(2 * size, out)} to {tensor(size, out)}
  %p = linalg.matmul ins(%x, %t : {tensor(batch, size)}, {tensor(size, out)}) outs(%f : {tensor(batch, out)}) -> {tensor(batch, out)}
  %y = linalg.matmul ins(%x, %s : {tensor(batch, size)}, {tensor(size, out)}) outs(%p : {tensor(batch, out)}) -> {tensor(batch, out)}
  return %y : {tensor(batch, out)}
}}
"""
    values = {"x": (x, (batch, size)), "a": (a, (out, size)), "b": (b, (2 * size, out)), "dy": (dy, (batch, out))}
    values = {name: (shape, flatten(value)) for name, (value, shape) in values.items()}
    inputs = {name: values.pop(name) for name in ("x", "dy")}
    Program(text, inputs, values).check(expected)


def main():
    cases = {}
    for ranks in (1, 2, 3, 4):
        for name, window in WINDOWS.items():
            cases[f"max_pool_{name}_{ranks}"] = functools.partial(check_max_pool, window, ranks)
        for kind in ("infinite", "least"):
            for cut in ("queries", "keys"):
                cases[f"masked_row_{kind}_{cut}_{ranks}"] = functools.partial(check_masked_row, kind, cut, ranks)
        for cut in ("rows", "features", "stored"):
            cases[f"uneven_{cut}_{ranks}"] = functools.partial(check_uneven, cut, ranks)
        for stored in (False, True):
            name = f"transposed{'_stored' if stored else ''}_{ranks}"
            cases[name] = functools.partial(check_transposed, ranks, stored)
    return xunit.run("e2e.gradient_traps", cases, sys.argv[1] if len(sys.argv) > 1 else "")


if __name__ == "__main__":
    sys.exit(main())
