#!/usr/bin/python3
"""Long programs (benchmarks/long_programs.py) are compiled, run and checked against closed forms.

They are long enough that a lowering in quadratic time runs into the test's time limit, and say what each must give:
sums of small integers, which are exact in f32, and an LSTM computed here step by step.
"""

import math
import os
import random
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", ".."), os.path.join(HERE, "..", "..", "..", "benchmarks")]
import long_programs  # noqa: E402
import npy  # noqa: E402
import xunit  # noqa: E402

RUN = os.path.abspath("tools/dist-run")
SHAPE = (8, 4)


def integers(count, seed):
    source = random.Random(seed)
    return [float(source.randint(-3, 3)) for _ in range(count)]


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def lstm(steps, inputs, batch=2, width=4):
    x, w, u = inputs
    h = [[0.0] * width for _ in range(batch)]
    c = [[0.0] * width for _ in range(batch)]
    out = []
    for t in range(steps):
        for b in range(batch):
            row = x[(t * batch + b) * width:][:width]
            z = [sum(row[k] * w[k * 4 * width + j] + h[b][k] * u[k * 4 * width + j] for k in range(width))
                 for j in range(4 * width)]
            i, f, o = ([sigmoid(v) for v in z[g * width:(g + 1) * width]] for g in range(3))
            g = [math.tanh(v) for v in z[3 * width:]]
            c[b] = [f[k] * c[b][k] + i[k] * g[k] for k in range(width)]
            h[b] = [o[k] * math.tanh(c[b][k]) for k in range(width)]
        out += [v for b in range(batch) for v in h[b]]
    return out


def running_sums(rows):
    sums, result = [0.0] * 4, []
    for i in range(0, len(rows), 4):
        sums = [a + b for a, b in zip(sums, rows[i:i + 4])]
        result += sums
    return result


def triangle(n, values):
    out = list(values)
    for matrix in range(4):
        rows = [out[(matrix * n + i) * n:][:n] for i in range(n)]
        for i in range(1, n):
            own = rows[i][:i]
            rows[i][:i] = [own[j] + sum(own[k] * rows[k][j] for k in range(i)) for j in range(i)]
        out[matrix * n * n:(matrix + 1) * n * n] = [v for row in rows for v in row]
    return out


def small(count):
    """Shapes and values of `count` arguments."""
    return [SHAPE] * count, [integers(32, i) for i in range(count)]


def mix(values, first, second):
    return [first * a + second * b for a, b in zip(*values)]


def cases():
    """Kind, size, shapes and values of the arguments, and the results wanted."""
    shapes, values = small(2)
    yield "chain", 3000, shapes, values, [mix(values, 1, 3000)]
    yield "fanout", 1000, shapes, values, [mix(values, 2000, 500500)]
    yield "results", 500, shapes, values, [mix(values, 1, i) for i in range(1, 501)]
    yield "same_result", 300, shapes, values, [mix(values, 1, 1)] * 300
    shapes, values = small(1000)
    yield "arguments", 1000, shapes, values, [[sum(column) for column in zip(*values)]]
    shapes, values = small(2)
    yield "rows_of_loops", 200, shapes, values, [mix(values, 1, 400)]
    yield "loops", 100, shapes, values, [mix(values, 1, 1)]
    yield "carried", 400, shapes, values, [mix(values, 1, 3 * i) for i in range(400)]
    rows = integers(4000, 1)
    yield "inserts", 1000, [(1000, 4)], [rows], [running_sums(rows)]
    source = random.Random(5)
    matrices = [struct.unpack("<f", struct.pack("<f", source.uniform(-.1, .1)))[0] for _ in range(4 * 48 * 48)]
    yield "triangle", 48, [(4, 48, 48)], [matrices], [triangle(48, matrices)]
    shapes = [(256, 2, 4), (4, 16), (4, 16)]
    values = [[struct.unpack("<f", struct.pack("<f", source.uniform(-1, 1)))[0] for _ in range(math.prod(shape))]
              for shape in shapes]
    yield "lstm", 256, shapes, values, [lstm(256, values)]


def check(kind, size, shapes, values, wanted):
    """None, or what is wrong."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
        program = os.path.join(folder, "program.mlir")
        with open(program, "w", encoding="utf-8") as file:
            file.write(long_programs.KINDS[kind](size))
        options = []
        for index, (shape, data) in enumerate(zip(shapes, values)):
            path = os.path.join(folder, f"a{index}.npy")
            npy.write(path, "f32", shape, data)
            options += ["--input", f"a{index}={path}"]
        run = subprocess.run([RUN, program, "--output", folder, *options], capture_output=True, text=True, check=False)
        if run.returncode != 0:
            return f"status {run.returncode}: {run.stderr[-2000:]}"
        for index, want in enumerate(wanted):
            _, _, got = npy.read(os.path.join(folder, f"r{index}.npy"))
            if len(got) != len(want):
                return f"r{index} has {len(got)} elements, not {len(want)}"
            # Sums of integers are exact; an LSTM in f32 forgets its rounding, and small numbers have little.
            bound = 1e-5 if kind in ("lstm", "triangle") else 0
            for place, (a, b) in enumerate(zip(got, want)):
                if not abs(a - b) <= bound:
                    return f"r{index}[{place}] is {a}, not {b}"
    return None


def main():
    results = []
    for kind, size, *rest in cases():
        if len(sys.argv) > 1 and kind not in sys.argv[1:]:
            continue
        start = time.monotonic()
        problem = check(kind, size, *rest)
        results.append((f"{kind}_{size}", time.monotonic() - start, problem))
        print(kind, size, problem or "ok", flush=True)
    return xunit.finish("long_programs", results)


if __name__ == "__main__":
    sys.exit(main())
