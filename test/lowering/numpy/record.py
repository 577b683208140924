#!/usr/bin/python3
"""Records what numpy makes of the programs in programs/: inputs and results, in recorded.json.

    python record.py            needs numpy

Each function below is the program of its name, written in numpy, where nothing is done in place. Inputs are small
multiples of 1/4, so that every sum and product is exact and results can be compared bit by bit. run_programs.py needs no
numpy.
"""

import json
import os
import zlib

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))


def if_shared(x, y, c):
    a, b = x + y, x - y
    return (b.T + b.T + (x + a if c[0] > 0 else b),)


def select_shared(x, y, c):
    a = x + y
    r = a if c[0] > 0 else x
    out = y - r
    return out, out.T + a, r


def switch_shared(x, y, c):
    p, q = {1: (x, y), 2: (y, y)}.get(int(c[0]), (y, x))
    a = p + q
    return a, a + p


def for_swap(x, y):
    for _ in range(3):
        x, y = y, x + y
    return x, y


def for_outer(x, y, c):
    a = x - y
    out = y + (a if c[0] > 0 else x)
    return out, out.T + a


def while_swap(x, y, c):
    p, q, k = x, y, 0
    while True:
        goes, p, q = k < c[0], q, p
        if not goes:
            return p, q
        k, p, q = k + 1, p, p - q


def insert_overlap(x, y):
    a = x.copy()
    a[2:6] = y[:4]
    b = a.copy()
    b[3:7] = x[4:]
    return a, b


def insert_shifted(x, y):
    a = np.concatenate([x[:1], x[:7]])
    b = np.concatenate([a[:, 1:], a[:, 7:]], axis=1)
    return b, a


def insert_computed(x, y):
    a = x.copy()
    a[2:6] = y[1:5] + x[2:6]
    return a, x.T - a


def loop_insert(x, y):
    return (x - np.cumsum(x, axis=0, dtype=x.dtype),)


def insert_dynamic(x, y, c):
    at = int(c[0])
    a = x.copy()
    a[1:4] = x[at:at + 3]
    b = y.copy()
    b[:, at:at + 2] = a[:, at:at + 2]
    return a, b


def call_identity(x, y):
    a = x + y
    n = a + y
    return y, a, n - a, a


def call_same_twice(x, y):
    a = x - y
    r = a.T + a
    return r, r.T + a


def accumulate_and_read(x, y):
    a = x + y
    b = x + a
    c = y - b
    return a.T + c, a, b


def product_accumulate(x, y):
    a = x - y
    p = a @ y + a
    return p, p @ a + y


def concat_parts(x, y):
    b = np.concatenate([x[3:], x[:3]]) + x
    return b, np.concatenate([b, b])


def pad_and_cut(x, y):
    a = np.pad(x, ((1, 1), (0, 1)))
    return a, a[:8, 1:] - x


def gather_rows(x, y, n):
    a = x[n[:, 0]] - x
    return a[n[:, 0]], a


def scatter_rows(x, y, n):
    a = x.copy()
    a[n[:, 0]] = x[5:]
    return a, x.T + a


def results_same(x, y):
    a = x + y
    return a, a, y, a.reshape(64)


def views(x, y):
    s = x - y
    return s.T + x, s.reshape(4, 2, 8)


def fill_past_branch(x, y, c):
    f = np.full_like(x, 2)
    r = x + f if c[0] > 0 else y
    return r, r - f


def row_maximum(x, y):
    a = x - y
    row = a.max(axis=1)
    return a - row[:, None], row


def nested(x, y, c):
    p, q = x, y
    for k in range(5):
        p, q = (q, p) if k % 2 == 1 else (q.T + p, x)
    return p, q


def roll(x, y):
    r = np.roll(x, -1, axis=0) - x
    return r + y, r


def integers(p, q):
    less = p < q
    a = np.where(less, p, q)
    c = a * q - p
    return c, less & (c != a), a


def empty_parts(x, y, z):
    return x + y + y, z


def make_inputs(name, code):
    source = np.random.RandomState(zlib.crc32(name.encode()))
    quarters = lambda *shape: (source.randint(-8, 9, shape) / 4).astype(np.float32)
    makers = {
        "x": lambda: quarters(8, 8),
        "y": lambda: quarters(8, 8),
        "z": lambda: quarters(0, 8),
        "n": lambda: (source.randint(0, 8, (8, 1)) if name == "gather_rows" else source.permutation(8)[:3, None]).astype(np.int64),
        "p": lambda: source.randint(-9, 10, (6, 5)).astype(np.int32),
        "q": lambda: source.randint(-9, 10, (6, 5)).astype(np.int32),
    }
    names = code.__code__.co_varnames[:code.__code__.co_argcount]
    # What steers the program, each way.
    for steering in ([0], [1], [2]) if "c" in names else (None,):
        yield {n: np.array(steering, np.int64) if n == "c" else makers[n]() for n in names}


def describe(array):
    return {"type": str(array.dtype), "shape": list(array.shape), "data": array.reshape(-1).tolist()}


def main():
    recorded = {}
    for path in sorted(os.listdir(os.path.join(HERE, "programs"))):
        name = path[:-len(".mlir")]
        code = globals()[name]
        recorded[name] = []
        for inputs in make_inputs(name, code):
            before = {n: array.copy() for n, array in inputs.items()}
            results = code(**inputs)
            assert all((inputs[n] == before[n]).all() for n in inputs), name
            recorded[name].append({"inputs": {n: describe(a) for n, a in inputs.items()}, "results": [describe(r) for r in results]})
    with open(os.path.join(HERE, "recorded.json"), "w", encoding="utf-8") as file:
        lines = [f"{json.dumps(name)}: [\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]" for name, cases in recorded.items()]
        file.write("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
