#!/usr/bin/python3
"""Gradients of attention under windows whose rows are sharded (record_window_gradients.py).

    window_gradients.py [REGEX]     only cases whose name matches

- `ranks_P`: in f64 gradients on P ranks, in blocks of which the last is shorter, are those on one to 1e-9, and
  PyTorch's within 1e-9 of their norm;
- `bytes_P`: a layer sends the rows of keys and values of its window forward, and as many of their cotangents backward:
  left + right rows of b · 2 · hkv · d numbers from a rank in the middle. Nothing is gathered or scattered, and each
  gradient of a parameter is added up once;
- `halo_P`: a schedule may say where rows are exchanged.

Programs come from tools/, below the current folder.
"""

import array
import functools
import json
import math
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
sys.path.insert(0, HERE)
import npy  # noqa: E402
import xunit  # noqa: E402
from philox import run  # noqa: E402

BATCH, ROWS, HEADS, GROUPS, FEATURES = 2, 50, 4, 2, 4
WIDTH = HEADS * FEATURES
WINDOWS = (9, 0), (3, 5)  # keys before and after a query
TOLERANCE = 1e-9
# Sizes of the parameters of a layer: weights, and the biases of keys and values.
PARAMETERS = [WIDTH * WIDTH] * 2 + [WIDTH * WIDTH // GROUPS] * 2 + [WIDTH // GROUPS] * 2


def differentiate(work, ranks, directives=()):
    imported, made = os.path.join(work, "model.mlir"), os.path.join(work, "gradients.mlir")
    run("dist-import", os.path.join(HERE, "Inputs/window_gradients.onnx"), "-o", imported)
    placed = []
    if ranks > 1:
        path = os.path.join(work, "schedule.mlir")
        with open(path, "w") as file:
            file.write(f'dist.mesh @m ["sp" = {ranks}]\ndist.schedule @s on @m {{\n')
            for directive in ['dist.shard input "x" [{}, {"sp"}, {}]', *directives]:
                file.write(f"  {directive}\n")
            file.write("}\n")
        placed = [f"--dist-apply-schedule=file={path}"]
    run("dist-opt", imported, *placed, "--dist-differentiate=cotangent=dy wrt=**", "-o", made)
    return made


def check_numbers(ranks, directives=()):
    with open(os.path.join(HERE, "Inputs/window_gradients.json")) as file:
        recorded = json.load(file)
    with tempfile.TemporaryDirectory() as work:
        made = differentiate(work, ranks, directives)
        given, count = [], BATCH * ROWS * WIDTH
        for name, values in (
            ("x", [math.sin(0.37 * k + 0.37) for k in range(count)]),
            ("dy", [math.cos(0.37 * k) for k in range(count)]),
        ):
            path = os.path.join(work, name + ".npy")
            npy.write(path, "f32", (BATCH, ROWS, WIDTH), values)
            given.append(f"--input={name}={path}")
        weights, out = os.path.join(work, "model.safetensors"), os.path.join(work, "out")
        exact = ["--verify=f64", xunit.OPT_LEVEL, f"--rtol={TOLERANCE}", f"--atol={TOLERANCE}"]
        run("dist-run", made, *given, f"--weights={weights}", f"--output={out}", *exact)
        for name, wanted in recorded.items():
            got = array.array("d", npy.read(os.path.join(out, name + ".grad.npy"))[2])
            norm = math.sqrt(math.fsum(value * value for value in got))
            total = math.fsum(value * math.cos(0.11 * k + 0.5) for k, value in enumerate(got))
            some = got[:: max(1, len(got) // 5)][:5]
            pairs = [(norm, wanted["norm"]), (total, wanted["sum"]), *zip(some, wanted["some"])]
            for a, b in pairs:
                # Written so that NaN is no match.
                assert abs(a - b) <= TOLERANCE * max(1, wanted["norm"]), f"{name}: {a}, PyTorch has {b}"


def check_bytes(ranks):
    with tempfile.TemporaryDirectory() as work:
        made, local = differentiate(work, ranks), os.path.join(work, "local.mlir")
        run("dist-opt", made, "--dist-spmd", "-o", local)
        report = json.loads(run("dist-report", local, "--json"))
    # Of two ranks each has a neighbour on one side alone.
    rows = sum(left + right if ranks > 2 else max(left, right) for left, right in WINDOWS)
    sent = 4 * rows * BATCH * 2 * (HEADS // GROUPS) * FEATURES
    reduced = sum(8 * (ranks - 1) * size // ranks for size in PARAMETERS)
    expected = {
        "halo_exchange": (2 * len(WINDOWS), sent),
        "halo_reduce": (2 * len(WINDOWS), sent),
        "all_reduce": (len(PARAMETERS) * len(WINDOWS), len(WINDOWS) * reduced),
    }
    totals = report["functions"][0]["totals"]
    found = {kind: (total["count"], total["bytes_sent_per_rank"]) for kind, total in totals.items()}
    assert found == expected, f"{found}, not {expected}"


def main():
    cases = {f"ranks_{ranks}": functools.partial(check_numbers, ranks) for ranks in (1, 2, 3, 4)}
    for ranks in (2, 3, 4):
        cases[f"bytes_{ranks}"] = functools.partial(check_bytes, ranks)
    for ranks in (2, 3):
        asked = [
            f'dist.sync "{layer}.{made}" fwd_post halo dim 1 low {left} high {right} over "sp"'
            for layer, (left, right) in zip(("first", "second"), WINDOWS)
            for made in ("key", "value")
        ]
        cases[f"halo_{ranks}"] = functools.partial(check_numbers, ranks, asked)
    return xunit.run("e2e.window_gradients", cases, sys.argv[1] if len(sys.argv) > 1 else "")


if __name__ == "__main__":
    sys.exit(main())
