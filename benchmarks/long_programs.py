#!/usr/bin/env python3
"""Writes long programs of a few kinds: `long_programs.py KIND N > out.mlir`.

The kinds are those that made the lowering quadratic or worse. Measured by
lowering_time.py; test/lowering/buffers/run_long_programs.py checks their results.
N is about the number of ops (chains), of steps (lstm) or of arguments.
"""

import sys

def tensor(*shape, element="f32"):
    return f"tensor<{'x'.join(map(str, shape))}x{element}>"


class Writer:
    """Ops of one function, and names for their results."""

    def __init__(self):
        self.lines, self.count, self.constants = [], 0, {}

    def op(self, text):
        self.count += 1
        name = f"%v{self.count}"
        self.lines.append(f"  {name} = {text}")
        return name

    def constant(self, value):
        if value not in self.constants:
            self.constants[value] = self.op(f"arith.constant {value} : f32")
        return self.constants[value]

    def add(self, a, b, t):
        return self.op(f"arith.addf {a}, {b} : {t}")

    def mul(self, a, b, t):
        return self.op(f"arith.mulf {a}, {b} : {t}")

    def empty(self, t):
        return self.op(f"tensor.empty() : {t}")

    def zeros(self, t):
        zero = self.constant("0.0")
        return self.op(f"linalg.fill ins({zero} : f32) outs({self.empty(t)} : "
                       f"{t}) -> {t}")

    def matmul(self, a, b, m, k, n):
        c = self.zeros(tensor(m, n))
        return self.op(
            f"linalg.matmul ins({a}, {b} : {tensor(m, k)}, {tensor(k, n)}) "
            f"outs({c} : {tensor(m, n)}) -> {tensor(m, n)}")

    def broadcast(self, v, m, n, dimension):
        t = tensor(m, n)
        size = n if dimension == 0 else m
        return self.op(f"linalg.broadcast ins({v} : {tensor(size)}) outs("
                       f"{self.empty(t)} : {t}) dimensions = [{dimension}]")

    def reduce(self, v, m, n, op, init):
        t = tensor(m)
        zero = self.constant(init)
        start = self.op(f"linalg.fill ins({zero} : f32) outs({self.empty(t)} : "
                        f"{t}) -> {t}")
        return self.op(f"linalg.reduce {{ {op} }} ins({v} : {tensor(m, n)}) "
                       f"outs({start} : {t}) dimensions = [1]")

    def extract(self, v, at, t, size, whole):
        offsets = ", ".join(map(str, at))
        sizes = ", ".join(map(str, size))
        ones = ", ".join("1" for _ in size)
        return self.op(f"tensor.extract_slice {v}[{offsets}] [{sizes}] "
                       f"[{ones}] : {whole} to {t}")

    def insert(self, v, into, at, t, size, whole):
        offsets = ", ".join(map(str, at))
        sizes = ", ".join(map(str, size))
        ones = ", ".join("1" for _ in size)
        return self.op(f"tensor.insert_slice {v} into {into}[{offsets}] "
                       f"[{sizes}] [{ones}] : {t} into {whole}")

    def program(self, arguments, results, inputs=None):
        """The first `inputs` arguments are inputs, the others parameters."""
        def kind(i):
            return "input" if inputs is None or i < inputs else "parameter"
        head = ", ".join(f"%a{i}: {t} {{dist.{kind(i)} = \"a{i}\"}}"
                         for i, t in enumerate(arguments))
        types = ", ".join(f"{t} {{dist.output = \"r{i}\"}}"
                          for i, (_, t) in enumerate(results))
        values = ", ".join(v for v, _ in results)
        plain = ", ".join(t for _, t in results)
        return "\n".join(
            [f"func.func @main({head}) -> ({types}) {{", *self.lines,
             f"  return {values} : {plain}", "}", ""])


SMALL = tensor(8, 4)


def chain(n):
    """r = a0 + n * a1, one op after the other."""
    w = Writer()
    value = "%a0"
    for _ in range(n):
        value = w.add(value, "%a1", SMALL)
    return w.program([SMALL] * 2, [(value, SMALL)])


def inserts(n):
    """Row i of the result is the sum of row i of a0 and the row before."""
    w = Writer()
    whole, row = tensor(n, 4), tensor(1, 4)
    value = w.zeros(whole)
    before = w.zeros(row)
    for i in range(n):
        part = w.extract("%a0", (i, 0), row, (1, 4), whole)
        before = w.add(before, part, row)
        value = w.insert(before, value, (i, 0), row, (1, 4), whole)
    return w.program([whole], [(value, whole)])


def triangle(n):
    """Row i of each matrix of a0 becomes r + r * (what is above it), of its
    first i elements: what gated delta rules and triangular solves are when they
    are exported. No two steps have the same sizes."""
    w = Writer()
    whole, value = tensor(4, n, n), "%a0"
    for i in range(1, n):
        row, block, column = tensor(4, 1, i), tensor(4, i, i), tensor(4, i)
        own = w.extract(value, (0, i, 0), row, (4, 1, i), whole)
        above = w.extract(value, (0, 0, 0), block, (4, i, i), whole)
        flat = w.op(f"tensor.collapse_shape {own} [[0], [1, 2]] : {row} into {column}")
        spread = w.op(f"linalg.broadcast ins({flat} : {column}) outs({w.empty(block)} : {block}) dimensions = [2]")
        sums = w.op(f"linalg.reduce {{ arith.addf }} ins({w.mul(spread, above, block)} : {block}) "
                    f"outs({w.zeros(column)} : {column}) dimensions = [1]")
        new = w.op(f"tensor.expand_shape {w.add(flat, sums, column)} [[0], [1, 2]] "
                   f"output_shape [4, 1, {i}] : {column} into {row}")
        value = w.insert(new, value, (0, i, 0), row, (4, 1, i), whole)
    return w.program([whole], [(value, whole)])


def fanout(n):
    """One computed value that n ops read: r = sum of 2 * a0 + i * a1."""
    w = Writer()
    source = w.add("%a0", "%a0", SMALL)
    total, step = w.zeros(SMALL), w.zeros(SMALL)
    for _ in range(n):
        step = w.add(step, "%a1", SMALL)
        total = w.add(total, w.add(source, step, SMALL), SMALL)
    return w.program([SMALL] * 2, [(total, SMALL)])


def results(n):
    """n results a0 + i * a1."""
    w = Writer()
    values = ["%a0"]
    for _ in range(n):
        values.append(w.add(values[-1], "%a1", SMALL))
    return w.program([SMALL] * 2, [(v, SMALL) for v in values[1:]])


def same_result(n):
    """One value, returned n times."""
    w = Writer()
    value = w.add("%a0", "%a1", SMALL)
    return w.program([SMALL] * 2, [(value, SMALL)] * n)


def arguments(n):
    """The sum of n arguments."""
    w = Writer()
    value = "%a0"
    for i in range(1, n):
        value = w.add(value, f"%a{i}", SMALL)
    return w.program([SMALL] * n, [(value, SMALL)])


def lstm(steps, batch=2, inputs=4, hidden=4):
    """An unrolled LSTM without biases, gates in the order i, f, o, g: a0 is x,
    a1 and a2 the weights of x and h, the result all h."""
    w = Writer()
    x = tensor(steps, batch, inputs)
    step, state = tensor(batch, inputs), tensor(batch, hidden)
    out, row = tensor(steps, batch, hidden), tensor(1, batch, hidden)
    gates = tensor(batch, 4 * hidden)
    whole = w.zeros(out)
    h, c = w.zeros(state), w.zeros(state)
    one = w.op(f"arith.constant dense<1.0> : {state}")

    def sigmoid(v):
        minus = w.op(f"arith.negf {v} : {state}")
        e = w.op(f"math.exp {minus} : {state}")
        return w.op(f"arith.divf {one}, {w.add(e, one, state)} : {state}")

    for t in range(steps):
        part = w.extract("%a0", (t, 0, 0), step, (1, batch, inputs), x)
        z = w.add(w.matmul(part, "%a1", batch, inputs, 4 * hidden),
                  w.matmul(h, "%a2", batch, hidden, 4 * hidden), gates)
        parts = [w.extract(z, (0, g * hidden), state, (batch, hidden), gates)
                 for g in range(4)]
        i, f, o = (sigmoid(p) for p in parts[:3])
        g = w.op(f"math.tanh {parts[3]} : {state}")
        c = w.add(w.mul(f, c, state), w.mul(i, g, state), state)
        h = w.mul(o, w.op(f"math.tanh {c} : {state}"), state)
        up = w.op(f"tensor.expand_shape {h} [[0, 1], [2]] output_shape "
                  f"[1, {batch}, {hidden}] : {state} into {row}")
        whole = w.insert(up, whole, (t, 0, 0), row, (1, batch, hidden), out)
    return w.program([x, tensor(inputs, 4 * hidden), tensor(hidden, 4 * hidden)],
                     [(whole, out)])


def loops(n):
    """n loops within each other, of as many iterations as a0[0, 0] equals
    itself: r = a0 + a1."""
    w = Writer()
    zero, one = w.op("arith.constant 0 : index"), w.op("arith.constant 1 : index")
    first = w.op(f"tensor.extract %a0[{zero}, {zero}] : {SMALL}")
    equal = w.op(f"arith.cmpf oeq, {first}, {first} : f32")
    count = w.op(f"arith.index_castui {equal} : i1 to index")
    value, outer = "%a0", []
    for i in range(n):
        outer.append(w.op(f"scf.for %i{i} = {zero} to {count} step {one} "
                          f"iter_args(%c{i} = {value}) -> {SMALL} {{"))
        value = f"%c{i}"
    value = w.add(value, "%a1", SMALL)
    for loop in reversed(outer):
        w.lines.append(f"scf.yield {value} : {SMALL} }}")
        value = loop
    return w.program([SMALL] * 2, [(value, SMALL)])


def rows_of_loops(n):
    """n loops one after the other, and n in one loop, of as many iterations
    as a0[0, 0] equals itself: r = a0 + 2 * n * a1."""
    w = Writer()
    zero, one = w.op("arith.constant 0 : index"), w.op("arith.constant 1 : index")
    first = w.op(f"tensor.extract %a0[{zero}, {zero}] : {SMALL}")
    equal = w.op(f"arith.cmpf oeq, {first}, {first} : f32")
    count = w.op(f"arith.index_castui {equal} : i1 to index")

    def loop(value, body):
        index, carried = f"%i{w.count}", f"%c{w.count}"
        result = w.op(f"scf.for {index} = {zero} to {count} step {one} "
                      f"iter_args({carried} = {value}) -> {SMALL} {{")
        w.lines.append(f"scf.yield {body(carried)} : {SMALL} }}")
        return result

    def row(value):
        for _ in range(n):
            value = loop(value, lambda carried: w.add(carried, "%a1", SMALL))
        return value

    value = loop(row("%a0"), row)
    return w.program([SMALL] * 2, [(value, SMALL)])


def carried(n):
    """A loop of three turns that carries n values, as a step of training with
    microbatches does: r_i = a0 + 3 * i * a1, of which i * a1 comes from before."""
    w = Writer()
    bounds = [w.op(f"arith.constant {i} : index") for i in (0, 3, 1)]
    step, steps = w.zeros(SMALL), []
    for _ in range(n):
        steps.append(step)
        step = w.add(step, "%a1", SMALL)
    inside = ", ".join(f"%c{i} = %a0" for i in range(n))
    w.lines.append(f"  %r:{n} = scf.for %k = {bounds[0]} to {bounds[1]} step {bounds[2]} "
                   f"iter_args({inside}) -> ({', '.join([SMALL] * n)}) {{")
    sums = [w.add(f"%c{i}", steps[i], SMALL) for i in range(n)]
    w.lines.append(f"  scf.yield {', '.join(sums)} : {', '.join([SMALL] * n)} }}")
    return w.program([SMALL] * 2, [(f"%r#{i}", SMALL) for i in range(n)])


def layers(n, rows=16, width=32, inner=64):
    """Layers of 40 ops: norm, product, bias, gelu, product, bias, residual."""
    w = Writer()
    x, h = tensor(rows, width), tensor(rows, inner)
    types = [x]
    value = "%a0"
    half = w.op(f"arith.constant dense<0.5> : {h}")
    one = w.op(f"arith.constant dense<1.0> : {h}")
    root = w.op(f"arith.constant dense<0.70710678> : {h}")
    scale = w.op(f"arith.constant dense<{1 / width}> : {tensor(rows)}")
    epsilon = w.op(f"arith.constant dense<1.0e-5> : {tensor(rows)}")
    while w.count < n:
        first = len(types)
        types += [tensor(width, inner), tensor(inner), tensor(inner, width),
                  tensor(width), tensor(width)]
        w1, b1, w2, b2, gamma = (f"%a{first + i}" for i in range(5))
        mean = w.mul(w.reduce(value, rows, width, "arith.addf", "0.0"), scale,
                     tensor(rows))
        centred = w.op(f"arith.subf {value}, "
                       f"{w.broadcast(mean, rows, width, 1)} : {x}")
        variance = w.mul(
            w.reduce(w.mul(centred, centred, x), rows, width, "arith.addf",
                     "0.0"), scale, tensor(rows))
        inverse = w.op(f"math.rsqrt {w.add(variance, epsilon, tensor(rows))} : "
                       f"{tensor(rows)}")
        normed = w.mul(centred, w.broadcast(inverse, rows, width, 1), x)
        normed = w.mul(normed, w.broadcast(gamma, rows, width, 0), x)
        a = w.add(w.matmul(normed, w1, rows, width, inner),
                  w.broadcast(b1, rows, inner, 0), h)
        e = w.op(f"math.erf {w.mul(a, root, h)} : {h}")
        a = w.mul(w.mul(a, half, h), w.add(e, one, h), h)
        b = w.add(w.matmul(a, w2, rows, inner, width),
                  w.broadcast(b2, rows, width, 0), x)
        value = w.add(value, b, x)
    return w.program(types, [(value, x)])


def transformer(n, rows=16, width=32):
    """n layers of attention and a product with gelu, each with a norm and a
    residual: a model whose step of training --dist-train-step makes."""
    w = Writer()
    x, square, vector = tensor(rows, width), tensor(rows, rows), tensor(rows)
    weight = tensor(width, width)
    types, value = [x], "%a0"
    half = w.op(f"arith.constant dense<0.5> : {x}")
    one = w.op(f"arith.constant dense<1.0> : {x}")
    scale = w.op(f"arith.constant dense<{1 / width}> : {vector}")
    epsilon = w.op(f"arith.constant dense<1.0e-5> : {vector}")

    def product(v, m=weight):
        types.append(m)
        return w.matmul(v, f"%a{len(types) - 1}", rows, width, width)

    def norm(v):
        mean = w.mul(w.reduce(v, rows, width, "arith.addf", "0.0"), scale, vector)
        v = w.op(f"arith.subf {v}, {w.broadcast(mean, rows, width, 1)} : {x}")
        variance = w.mul(w.reduce(w.mul(v, v, x), rows, width, "arith.addf", "0.0"),
                         scale, vector)
        inverse = w.op(f"math.rsqrt {w.add(variance, epsilon, vector)} : {vector}")
        return w.mul(v, w.broadcast(inverse, rows, width, 1), x)

    for _ in range(n):
        normed = norm(value)
        q, k, v = (product(normed) for _ in range(3))
        across = tensor(width, rows)
        k = w.op(f"linalg.transpose ins({k} : {x}) outs({w.empty(across)} : {across}) "
                 "permutation = [1, 0]")
        scores = w.matmul(q, k, rows, width, rows)
        weights = w.op(f"linalg.softmax dimension(1) ins({scores} : {square}) "
                       f"outs({w.empty(square)} : {square}) -> {square}")
        value = w.add(value, product(w.matmul(weights, v, rows, rows, width)), x)
        inner = product(norm(value))
        gate = w.add(w.op(f"math.erf {inner} : {x}"), one, x)
        value = w.add(value, product(w.mul(w.mul(inner, half, x), gate, x)), x)
    return w.program(types, [(value, x)], inputs=1)


KINDS = {f.__name__: f for f in (chain, inserts, triangle, fanout, results, same_result,
                                 arguments, lstm, loops, rows_of_loops, carried,
                                 layers, transformer)}

if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in KINDS:
        sys.exit(f"usage: {sys.argv[0]} {'|'.join(KINDS)} N")
    print(KINDS[sys.argv[1]](int(sys.argv[2])), end="")
